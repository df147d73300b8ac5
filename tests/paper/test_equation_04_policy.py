r"""Equation (4), a policy draws one of its L subpolicies uniformly.

.. math:: T(X) = \tau_i(X; \mu_{\tau_i}, p_{\tau_i}), \qquad i \sim U(\{1, \dots, L\})

The paper draws once for a batch (``granularity="batch"``); we draw for each window by default.
"""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from cadda import OperationPool, Policy, PolicySpec, StagedPolicy

OUTCOMES = {"add": 3.5, "double": 6.0, "square": 9.0}
"""Results of the three subpolicies for windows of the value 3."""


def make_policy(kind: str, pool: OperationPool, granularity: str) -> torch.nn.Module:
    """Make a policy of three subpolicies, each certain to apply one operation."""
    if kind == "fixed":
        spec = PolicySpec.from_text("add p=1 m=0.5\ndouble p=1\nsquare p=1", known=pool.names)
        return Policy(spec, pool, granularity=granularity)
    policy = StagedPolicy(pool, n_subpolicies=3, n_stages=1, granularity=granularity)
    policy.weight.data.copy_(1e3 * torch.eye(3)[None, :, None])
    policy.probability_logit.data.fill_(1e3)
    return policy


def counts_of(values: torch.Tensor) -> list[int]:
    counts = [int((values == outcome).sum()) for outcome in OUTCOMES.values()]
    assert sum(counts) == values.numel()
    return counts


@pytest.mark.parametrize("kind", ["fixed", "relaxed"])
def test_uniform_over_batches(
    kind: str, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    policy, x = make_policy(kind, arithmetic, "batch"), torch.full((8, 1, 1), 3.0)
    batches = torch.stack([policy(x, generator=generator)[0] for _ in range(600)]).flatten(1)
    assert (batches == batches[:, :1]).all()
    assert chisquare(counts_of(batches[:, 0])).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["fixed", "relaxed"])
def test_uniform_over_windows(
    kind: str, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    policy, x = make_policy(kind, arithmetic, "window"), torch.full((6000, 1, 1), 3.0)
    assert chisquare(counts_of(policy(x, generator=generator)[0])).pvalue > 1e-3
