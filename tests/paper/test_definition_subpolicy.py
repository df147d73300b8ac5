r"""Section 4, an augmentation subpolicy of length K (not numbered).

.. math:: \tau(X; \mu_\tau, p_\tau) = (O_K \circ \dots \circ O_1)(X; \mu_\tau, p_\tau)
"""

from __future__ import annotations

from itertools import product

import pytest
import torch
from scipy.stats import chisquare

from cadda import OperationPool, Policy, PolicySpec


@pytest.mark.parametrize("order", ["add double square", "square double add"])
def test_operations_are_composed_in_order(
    order: str, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    """All 2^K outcomes occur with the product of their probabilities, and no other."""
    probability = {"add": 0.3, "double": 0.5, "square": 0.6}
    steps = {"add": lambda v: v + 0.25, "double": lambda v: 2 * v, "square": lambda v: v**2}
    names = order.split()
    text = " > ".join(f"{name} p={probability[name]} m=0.25" for name in names)
    policy = Policy(PolicySpec.from_text(text, known=arithmetic.names), arithmetic)
    start, n_windows = 3.0, 4000
    result, _ = policy(torch.full((n_windows, 1, 1), start), generator=generator)
    expected: dict[float, float] = {}
    for applied in product([False, True], repeat=len(names)):
        value, share = start, 1.0
        for name, is_applied in zip(names, applied, strict=True):
            value = steps[name](value) if is_applied else value
            share *= probability[name] if is_applied else 1 - probability[name]
        expected[value] = share
    values, counts = result.flatten().unique(return_counts=True)
    assert values.tolist() == sorted(expected)
    shares = [expected[value] for value in sorted(expected)]
    assert chisquare(counts, torch.tensor(shares) * n_windows).pvalue > 1e-3
