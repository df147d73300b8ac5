r"""Equation (6), a stage is a relaxed choice among all operations.

.. math:: \tilde O_k(X) = \sum_n [\sigma_\eta(w_k)]_n \, O_k^{(n)}(X; \mu_k^{(n)}, p_k^{(n)})

Faster AutoAugment takes the sum as it stands. ADDA draws one operation with log-probabilities
:math:`w_k`, by a straight-through Gumbel softmax: one-hot forward, soft backward.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import chisquare

from cadda import MixturePolicy, OperationPool, StagedPolicy

WEIGHT = (0.3, -0.5, 0.8)
MAGNITUDE = 0.5


def operations(x: np.ndarray) -> np.ndarray:
    """Apply x + µ, 2x and x² by numpy."""
    return np.stack([x + MAGNITUDE, 2 * x, x**2])


def set_weights(policy: StagedPolicy) -> None:
    policy.weight.data.copy_(torch.tensor(WEIGHT))
    policy.probability_logit.data.fill_(1e3)


@pytest.mark.parametrize("eta", [0.5, 2.0])
def test_faster_autoaugment_takes_the_sum(
    eta: float, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    """Two stages in a row."""
    policy = MixturePolicy(arithmetic, n_subpolicies=1, n_stages=2, choice_temperature=eta)
    set_weights(policy)
    x = torch.randn(5, 2, 3, generator=generator, dtype=torch.float64)
    result, _ = policy(x, generator=generator)
    expected = x.numpy()
    for _ in range(2):
        expected = np.tensordot(softmax(np.array(WEIGHT) / eta), operations(expected), 1)
    np.testing.assert_allclose(result.detach(), expected, rtol=1e-6)


def test_a_small_eta_leaves_one_operation(
    arithmetic: OperationPool, generator: torch.Generator
) -> None:
    policy = MixturePolicy(arithmetic, n_subpolicies=1, n_stages=1, choice_temperature=0.01)
    set_weights(policy)
    x = torch.randn(5, 2, 3, generator=generator)
    torch.testing.assert_close(policy(x, generator=generator)[0], x**2)


def test_adda_draws_one_operation(arithmetic: OperationPool, generator: torch.Generator) -> None:
    policy = StagedPolicy(arithmetic, n_subpolicies=1, n_stages=1)
    set_weights(policy)
    n_windows, start = 5000, 3.0
    result, _ = policy(torch.full((n_windows, 1, 1), start), generator=generator)
    counts = [int((result == value).sum()) for value in operations(np.array(start))]
    assert sum(counts) == n_windows
    assert chisquare(counts, softmax(WEIGHT) * n_windows).pvalue > 1e-3


def test_adda_has_the_derivative_of_the_gumbel_softmax(
    arithmetic: OperationPool, generator: torch.Generator
) -> None:
    """Against a central difference of softmax((log softmax(w) + g) / τ), by numpy."""
    tau = 0.7
    policy = StagedPolicy(arithmetic, n_subpolicies=1, n_stages=1, choice_temperature=tau)
    set_weights(policy)
    x = torch.full((1, 1, 1), 3.0, dtype=torch.float64)
    draw = policy.draw(x, generator=generator)
    (slope,) = torch.autograd.grad(policy.transform(x, draw).sum(), policy.weight)
    gumbel, chosen = draw.noise.numpy().ravel(), int(draw.operation)
    change = float(operations(np.array(3.0))[chosen] - 3.0)

    def share(weight: np.ndarray) -> float:
        return softmax((np.log(softmax(weight)) + gumbel) / tau)[chosen]

    h = 1e-5 * np.eye(3)
    expected = [change * (share(WEIGHT + d) - share(WEIGHT - d)) / 2e-5 for d in h]
    np.testing.assert_allclose(slope.numpy().ravel(), expected, rtol=1e-4)
