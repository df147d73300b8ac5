r"""Equation (3), an operation that is applied with probability p.

.. math:: O(X; p, \mu) = \begin{cases} O(X; \mu) & \text{with probability } p \\
                                       X & \text{with probability } 1 - p \end{cases}
"""

from __future__ import annotations

import pytest
import torch
from scipy.stats import binomtest

from cadda import OperationPool, Policy, PolicySpec, StagedPolicy

N_WINDOWS = 5000


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("relaxed", [False, True])
def test_windows_are_changed_with_probability_p(
    p: float, relaxed: bool, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    magnitude = 0.25
    x = torch.randn(N_WINDOWS, 1, 3, generator=generator)
    if relaxed:
        policy = StagedPolicy(arithmetic.select(["add"]), n_subpolicies=1, n_stages=1)
        policy.probability_logit.data.fill_(torch.logit(torch.tensor(p)))
        policy.magnitude_logit.data.fill_(torch.logit(torch.tensor(magnitude)))
    else:
        spec = PolicySpec.from_text(f"add p={p} m={magnitude}", known=arithmetic.names)
        policy = Policy(spec, arithmetic)
    result, _ = policy(x, generator=generator)
    changed = (result != x).any((1, 2))
    torch.testing.assert_close(result[changed], x[changed] + magnitude)
    assert torch.equal(result[~changed], x[~changed])
    assert binomtest(int(changed.sum()), N_WINDOWS, p).pvalue > 1e-3
