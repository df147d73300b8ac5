r"""Appendix A, fitting the identity (not numbered).

.. math:: \min_{p, \mu} \|X - O(X; p, \mu)\|^2

Gradient descent finds it, in p and in µ; with a straight-through estimator of µ it does not.
"""

from __future__ import annotations

import pytest
import torch

from cadda import OperationPool
from cadda._internal.random import Seeds
from cadda.operations import CATALOGUE
from cadda.operations.base import Operation
from cadda.policies.relaxed.gates import gate

EEG_OPERATIONS = [name for name, row in CATALOGUE.items() if row.domain != "image"]
WITH_MAGNITUDE = [name for name in EEG_OPERATIONS if CATALOGUE[name].has_magnitude]
STEPS, STRAIGHT_THROUGH_STEPS = (110, 0.2), (400, 0.05)
"""Numbers of steps and learning rates of Adam; what must not arrive gets more time."""

REACHED = 0.05
LABELS = torch.zeros(32, dtype=torch.long)
"""All windows are of one class, so that each has partners."""


def windows() -> torch.Tensor:
    """Make standardised random walks, whose spectrum falls like that of EEG."""
    walk = torch.randn(32, 6, 300, generator=Seeds(0).stream("windows")).cumsum(-1)
    walk -= walk.mean(-1, keepdim=True)
    return walk / walk.std(-1, keepdim=True)


def fit_magnitude(operation: Operation, *, straight_through: bool) -> float:
    """Minimise ‖x − O(x; µ)‖² in µ, from 0.5."""
    x, generator = windows(), Seeds(0).stream("draws")
    logit = torch.zeros((), requires_grad=True)
    n_steps, rate = STRAIGHT_THROUGH_STEPS if straight_through else STEPS
    optimizer = torch.optim.Adam([logit], lr=rate)
    for _ in range(n_steps):
        magnitude = logit.sigmoid()
        if straight_through:
            result = operation(x, magnitude.detach(), y=LABELS, generator=generator)
            result = result + (magnitude - magnitude.detach())
        else:
            result = operation(x, magnitude, y=LABELS, generator=generator)
        optimizer.zero_grad()
        (x - result).square().mean().backward()
        optimizer.step()
    return logit.sigmoid().item()


def fit_probability(operation: Operation) -> float:
    """Minimise ‖x − O(x; p, 0.5)‖² in p, from 0.5."""
    x, generator = windows(), Seeds(0).stream("draws")
    logit = torch.zeros((), requires_grad=True)
    n_steps, rate = STEPS
    optimizer = torch.optim.Adam([logit], lr=rate)
    for _ in range(n_steps):
        changed = operation(x, 0.5, y=LABELS, generator=generator)
        noise = torch.rand(len(x), generator=generator).clamp(1e-6, 1 - 1e-6)
        result = gate(x, changed, logit.sigmoid().expand(len(x)), noise, 0.1)
        optimizer.zero_grad()
        (x - result).square().mean().backward()
        optimizer.step()
    return logit.sigmoid().item()


@pytest.mark.parametrize("name", WITH_MAGNITUDE)
def test_magnitude_goes_to_zero(name: str, pool: OperationPool) -> None:
    assert fit_magnitude(pool[name], straight_through=False) < REACHED


@pytest.mark.parametrize("name", EEG_OPERATIONS)
def test_probability_goes_to_zero(name: str, pool: OperationPool) -> None:
    assert fit_probability(pool[name]) < REACHED


@pytest.mark.parametrize("name", ["ft_surrogate", "time_mask", "gaussian_noise"])
def test_straight_through_does_not_get_there(name: str, pool: OperationPool) -> None:
    assert fit_magnitude(pool[name], straight_through=True) > 0.2
