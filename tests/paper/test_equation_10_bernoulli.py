r"""Equation (10), the probability as a random variable.

.. math:: O(X; p, \mu) = b \, O(X; \mu) + (1 - b) X, \qquad b \sim \text{Bernoulli}(p)

relaxed to be differentiable in p: b becomes a function of p and of a uniform number u. Forward it
stays 0 or 1, so that no window is a blend; backward it is the relaxed variable of Maddison et al.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit, logit
from scipy.stats import kstest

from cadda.policies.relaxed.gates import gate
from cadda.signal.relaxation import relaxed_bernoulli

TAU = 0.4


@pytest.mark.parametrize("p", [0.0, 0.2, 0.7, 1.0])
def test_b_is_bernoulli(p: float) -> None:
    """A share p of the unit interval gives 1, on a grid."""
    u = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    hard, _ = relaxed_bernoulli(torch.tensor(p, dtype=torch.float64), u, TAU)
    assert set(hard.tolist()) <= {0.0, 1.0}
    assert hard.mean().item() == pytest.approx(p)


@pytest.mark.parametrize("p", [0.2, 0.7])
def test_the_relaxed_b_has_the_concrete_distribution(p: float, generator: torch.Generator) -> None:
    """Its distribution function is P(b ≤ s) = σ(τ logit s − logit p)."""
    u = torch.rand(2000, generator=generator, dtype=torch.float64)
    _, soft = relaxed_bernoulli(torch.tensor(p, dtype=torch.float64), u, TAU)
    assert kstest(soft.numpy(), lambda s: expit(TAU * logit(s) - logit(p))).pvalue > 1e-3


def test_value_and_derivative(generator: torch.Generator) -> None:
    """The derivative in p against a central difference of b O(X) + (1 − b) X, by numpy."""
    p, h = 0.6, 1e-6
    x, changed, weight = torch.randn(3, 50, 2, 3, generator=generator, dtype=torch.float64)
    u = torch.rand(50, generator=generator, dtype=torch.float64)
    probability = torch.tensor(p, dtype=torch.float64, requires_grad=True)
    result = gate(x, changed, probability.expand(50), u, TAU)
    applied = (u > 1 - p)[:, None, None]
    assert torch.equal(result, torch.where(applied, changed, x))
    (slope,) = torch.autograd.grad((weight * result).sum(), probability)

    def relaxed(value: float) -> float:
        b = expit((logit(value) + logit(u.numpy())) / TAU)[:, None, None]
        mixed = b * changed.numpy() + (1 - b) * x.numpy()
        return float(np.sum(weight.numpy() * mixed))

    assert slope.item() == pytest.approx((relaxed(p + h) - relaxed(p - h)) / (2 * h), rel=1e-5)
