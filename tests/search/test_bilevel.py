"""The bilevel search on windows whose best policy is known."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from cadda import EnumeratedPolicy, OperationPool, RelaxedPolicy, StagedPolicy
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.search.bilevel import BilevelSearcher, BilevelSettings
from cadda.search.task import SearchTask

POOL = OperationPool([SignFlip(), TimeReverse(), GaussianNoise()])
CLASSES = ("up", "down")


def bumps(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Make windows told apart by the sign of a bump that is symmetric in time.

    A turned sign turns one class into the other; reversed time changes nothing.
    """
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    time = torch.linspace(-1, 1, 40)
    bump = torch.exp(-((time / 0.3) ** 2)) * (1 - 2 * y.float())[:, None, None]
    return bump + 0.4 * torch.randn(n, 1, 40, generator=g), y


def make_model(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv1d(1, 6, 9),
            nn.BatchNorm1d(6),
            nn.Tanh(),
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.Linear(6 * 32, 2),
        )


def task() -> SearchTask:
    (x, y), (x_valid, y_valid) = bumps(64, 0), bumps(64, 1)
    device = torch.device("cpu")
    return SearchTask(x, y, x_valid, y_valid, CLASSES, POOL, make_model, device)


def searcher(policy: RelaxedPolicy, **changes: object) -> BilevelSearcher:
    values = {"warmup_steps": 10, "policy_lr": 0.05} | changes
    return BilevelSearcher(task(), policy, BilevelSettings(**values))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy])
@pytest.mark.parametrize("class_names", [None, CLASSES])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hypergradient": "exact"},
        {"estimator": "straight-through"},
        {"reuse_inner_gradient": False},
        {"paired": False},
    ],
    ids=str,
)
def test_the_policy_moves_away_from_what_swaps_the_classes(
    kind: type[RelaxedPolicy], class_names: tuple[str, ...] | None, changes: dict[str, object]
) -> None:
    """This fails with the sign of the paper's Algorithm 1."""
    policy = kind(POOL, class_names=class_names, n_stages=1)
    before = policy.to_spec().operation_probabilities()
    search = searcher(policy, **changes)
    for _ in range(70):
        search.step()
    after = policy.to_spec().operation_probabilities()
    flip, others = after[:, 0] / before[:, 0], after[:, 1:] / before[:, 1:]
    assert (flip < 0.7).all()
    assert (flip[:, None] < others).all()


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy])
def test_one_choice_per_batch_learns_too(kind: type[RelaxedPolicy]) -> None:
    policy = kind(POOL, class_names=CLASSES, n_stages=1, granularity="batch")
    search = searcher(policy)
    for _ in range(120):
        search.step()
    after = policy.to_spec().operation_probabilities()
    assert (after[:, 0] < after[:, 1:].min(1)).all()


def test_nothing_moves_during_warmup() -> None:
    policy = StagedPolicy(POOL)
    search = searcher(policy, warmup_steps=5)
    start = copy.deepcopy(policy.state_dict())
    for _ in range(5):
        assert search.step().reward == 0
    assert all(torch.equal(start[k], v) for k, v in policy.state_dict().items())
    search.step()
    assert not all(torch.equal(start[k], v) for k, v in policy.state_dict().items())


def test_resumes_to_the_same_bytes() -> None:
    whole = searcher(StagedPolicy(POOL))
    events = [whole.step() for _ in range(20)]
    first = searcher(StagedPolicy(POOL))
    for _ in range(12):
        first.step()
    state = copy.deepcopy(first.state_dict())
    second = searcher(StagedPolicy(POOL))
    second.load_state_dict(state)
    assert [second.step() for _ in range(8)] == events[12:]
    expected = whole.policy.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in second.policy.state_dict().items())


def test_extra_passes_leave_batch_norm_alone() -> None:
    """Statistics are updated once per step, by the training pass."""
    search = searcher(StagedPolicy(POOL), warmup_steps=0)
    for _ in range(7):
        search.step()
    assert int(search.model[1].num_batches_tracked) == 7


def test_entropy_falls_from_one() -> None:
    search = searcher(StagedPolicy(POOL, n_stages=1))
    events = [search.step() for _ in range(70)]
    assert events[0].entropy == pytest.approx(1.0)
    assert events[-1].entropy < 0.99
