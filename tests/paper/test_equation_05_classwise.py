r"""Equation (5), a class-wise subpolicy.

.. math:: \tilde\tau: (X, y) \mapsto \tau_y(X)
"""

from __future__ import annotations

import pytest
import torch

from cadda import OperationPool, Policy, PolicySpec, StagedPolicy

CLASSES = ("W", "N2", "REM")


@pytest.mark.parametrize("granularity", ["window", "batch"])
@pytest.mark.parametrize("relaxed", [False, True])
def test_the_label_decides_the_subpolicy(
    relaxed: bool, granularity: str, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    """W gets x², N2 gets x + 1/2, REM gets 2x."""
    x = torch.randn(60, 2, 5, generator=generator)
    y = torch.randint(3, (60,), generator=generator)
    if relaxed:
        policy = StagedPolicy(arithmetic, class_names=CLASSES, n_stages=1, granularity=granularity)
        chosen = torch.tensor([arithmetic.index(name) for name in ("square", "add", "double")])
        policy.weight.data.copy_(1e3 * torch.eye(3)[chosen][:, None, None])
        policy.probability_logit.data.fill_(1e3)
    else:
        text = "[W]\nsquare p=1\n[N2]\nadd p=1 m=0.5\n[REM]\ndouble p=1"
        spec = PolicySpec.from_text(text, known=arithmetic.names)
        assert spec.class_names == CLASSES
        policy = Policy(spec, arithmetic.for_classes(CLASSES), granularity=granularity)
    result, labels = policy(x, y, generator=generator)
    label = y[:, None, None]
    expected = torch.where(label == 0, x**2, torch.where(label == 1, x + 0.5, 2 * x))
    torch.testing.assert_close(result, expected)
    assert torch.equal(labels, y)
