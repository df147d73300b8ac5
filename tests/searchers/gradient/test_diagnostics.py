"""Rewards by class, against sums over windows one by one."""

from __future__ import annotations

import math

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda import OperationPool
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise
from cadda.searchers.events import ClassRewards
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.diagnostics import (
    CONTROL_EVERY,
    ClassSums,
    class_rewards,
    reward_warnings,
    white_noise,
)
from cadda.searchers.gradient.settings import BilevelSettings

Y = torch.tensor([0, 1, 0, 1, 1, 0])


def sums(seed: int, *, controls: bool) -> tuple[ClassSums, list[torch.Tensor]]:
    values = list(torch.randn(5, 6, generator=torch.Generator().manual_seed(seed)).double())
    rewards, unchanged, before, after, control = values
    made = ClassSums.of_step(
        Y,
        2,
        rewards=rewards,
        unchanged=unchanged,
        residuals=(before.abs(), after.abs()),
        controls=control if controls else None,
    )
    return made, values


def test_means_are_over_all_windows_of_a_class() -> None:
    first, one = sums(0, controls=True)
    second, two = sums(1, controls=False)
    found = class_rewards([first, None, second])
    assert found is not None
    rewards, unchanged, before, after, _ = (torch.cat(pair) for pair in zip(one, two, strict=True))
    for c in (0, 1):
        here = torch.cat([Y, Y]) == c
        assert found.unchanged[c] == pytest.approx(float(unchanged[here].mean()))
        error = float(unchanged[here].std(correction=0)) / math.sqrt(int(here.sum()))
        assert found.error[c] == pytest.approx(error)
        assert found.policy[c] == pytest.approx(float((rewards - unchanged)[here].mean()))
        ratio = float(after[here].abs().sum() / before[here].abs().sum())
        assert found.residual_ratio[c] == pytest.approx(ratio)
        # Only the first step has controls.
        assert found.control[c] == pytest.approx(float((one[4] - one[1])[c == Y].mean()))


def test_steps_without_rewards_or_controls() -> None:
    assert class_rewards([None, None]) is None
    found = class_rewards([sums(0, controls=False)[0]])
    assert found is not None
    assert all(map(math.isnan, found.control))


def test_noise_has_the_power_of_each_channel() -> None:
    x = torch.randn(3, 2, 20_000) * torch.tensor([1.0, 5.0])[:, None] + 1
    noise = white_noise(x, torch.Generator().manual_seed(0))
    power = x.square().mean(-1)
    torch.testing.assert_close(noise.square().mean(-1), power, rtol=0.05, atol=0)
    assert torch.corrcoef(torch.stack([x[0, 0], noise[0, 0]]))[0, 1].abs() < 0.05


def test_a_class_with_negative_rewards_gets_a_warning() -> None:
    none = (0.0, 0.0, 0.0)
    rewards = ClassRewards((-1.0, -1.0, 1.0), (0.1, 0.9, 0.1), none, none, none)
    (warning,) = reward_warnings(rewards, ("A", "B", "C"))
    assert warning.startswith("unchanged windows of A have a negative mean reward")
    assert reward_warnings(None, ("A",)) == ()


def searcher(**changes: object) -> BilevelSearcher:
    g = torch.Generator().manual_seed(0)
    parts = [(torch.randn(32, 1, 40, generator=g), torch.arange(32) % 2) for _ in range(2)]

    def model(seed: int) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Sequential(nn.Conv1d(1, 4, 9), nn.Tanh(), nn.Flatten(), nn.Linear(128, 2))

    pool = OperationPool([SignFlip(), GaussianNoise()])
    problem = tensor_problem(*parts, ("a", "b"), model, pool=pool)
    settings = BilevelSettings(**{"warmup_epochs": 1} | changes)
    return BilevelSearcher(problem, settings, classwise=False)


def test_steps_have_rewards_after_the_warmup_and_controls_now_and_then() -> None:
    search = searcher()
    with_controls = []
    for step in range(1, 2 * CONTROL_EVERY + 1):
        made = search.step()
        found = class_rewards([search.class_sums])
        assert (found is None) == (step <= 2) == (made.reward is None)
        if found is not None:
            n_windows = search.class_sums.n_windows if search.class_sums else torch.zeros(2)
            mean = float((torch.tensor(found.policy) * n_windows).sum() / n_windows.sum())
            assert mean == pytest.approx(made.reward, rel=1e-4, abs=1e-6)
            if not any(map(math.isnan, found.control)):
                with_controls.append(step)
    assert with_controls == [CONTROL_EVERY, 2 * CONTROL_EVERY]


def test_unpaired_rewards_have_none() -> None:
    search = searcher(paired=False, warmup_epochs=0)
    search.step()
    assert search.class_sums is None
