"""How a policy moves, given gradients."""

from __future__ import annotations

import copy

import pytest
import torch

from cadda import OperationPool, StagedPolicy
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.searchers.gradient.policy_optimizer import ChoiceAdam, PolicyAscent

POOL = OperationPool([SignFlip(), TimeReverse(), GaussianNoise()])


def ascent(*, pooled: bool) -> PolicyAscent:
    policy = StagedPolicy(POOL, class_names=("a", "b"), n_subpolicies=4, n_stages=2)
    return PolicyAscent(policy, estimator="relax", lr=0.05, control_lr=0.01, pooled=pooled, seed=0)


def move(one: PolicyAscent, slopes: list[torch.Tensor]) -> torch.Tensor:
    for slope in slopes:
        one.policy.weight.grad = slope.clone()
        one._step()
    return one.policy.weight.detach()


def slopes(n: int, seed: int = 0) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return list(torch.randn(n, 2, 4, 2, 3, generator=g))


def test_pooled_parameters_are_a_common_part_plus_their_own() -> None:
    own = torch.zeros(2, 4, 2, 3, requires_grad=True)
    common = torch.zeros(2, 1, 1, 3, requires_grad=True)
    optimizer = ChoiceAdam([own, common], lr=0.05)
    for slope in slopes(5):
        optimizer.zero_grad()
        torch.autograd.backward((slope * (own + common)).sum())
        optimizer.step()
    expected = (own + common).detach()
    torch.testing.assert_close(move(ascent(pooled=True), slopes(5)), expected)
    assert not torch.allclose(move(ascent(pooled=False), slopes(5)), expected)


def test_what_all_stages_hear_faintly_moves_a_pooled_policy_further() -> None:
    faint = [0.2 + slope for slope in slopes(200)]
    moved = {pooled: move(ascent(pooled=pooled), faint) for pooled in (False, True)}
    assert float(moved[True].mean()) < 3 * float(moved[False].mean()) < 0


@pytest.mark.parametrize("pooled", [False, True])
def test_goes_on_from_a_saved_state(pooled: bool) -> None:
    first, second = ascent(pooled=pooled), ascent(pooled=pooled)
    move(first, slopes(3))
    second.policy.load_state_dict(first.policy.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert torch.equal(move(first, slopes(3, 1)), move(second, slopes(3, 1)))
