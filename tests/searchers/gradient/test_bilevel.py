"""The bilevel search on windows whose best policy is known."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
import torch
from _pytest.mark import ParameterSet
from numpy.typing import NDArray
from problems import tensor_problem
from torch import nn

from cadda import EnumeratedPolicy, MixturePolicy, OperationPool, StagedPolicy
from cadda._internal.random import Seeds
from cadda.exceptions import TrainingError
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.training.problem import Problem

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


def problem(make: Callable[[int], nn.Module] = make_model) -> Problem:
    (x, y), (x_valid, y_valid) = bumps(64, 0), bumps(64, 1)
    return tensor_problem((x, y), (x_valid, y_valid), CLASSES, make, pool=POOL)


def searcher(*, classwise: bool = False, **changes: object) -> BilevelSearcher:
    values = {"warmup_epochs": 3, "policy_lr": 0.05, "n_stages": 1} | changes
    settings = BilevelSettings(**values)
    return BilevelSearcher(problem(), settings, classwise=classwise)


def used(search: BilevelSearcher) -> NDArray[np.float64]:
    return search.to_spec().operation_probabilities()


VARIANTS: list[dict[str, object]] = [
    {},
    {"hypergradient": "exact"},
    {"estimator": "straight-through"},
    {"reuse_inner_gradient": False},
    {"paired": False},
    {"confidence": "keep"},
    {"confidence": "calibrate"},
    {"pooled": False},
    {"smoothing": 0.0},
]


def every_variant() -> Iterator[ParameterSet]:
    """All variants of all methods; those of ADDA and DADA with other settings are slow."""
    for sampling, classwise, changes in product(["stage", "subpolicy"], [False, True], VARIANTS):
        is_cadda = sampling == "stage" and classwise
        marks = () if is_cadda or not changes else pytest.mark.slow
        name = f"{sampling}-{'classwise' if classwise else 'one'}-{changes}"
        yield pytest.param(sampling, classwise, changes, marks=marks, id=name)


@pytest.mark.parametrize(("sampling", "classwise", "changes"), [*every_variant()])
def test_the_policy_moves_away_from_what_swaps_the_classes(
    sampling: str, classwise: bool, changes: dict[str, object]
) -> None:
    """This fails with the sign of the paper's Algorithm 1."""
    search = searcher(classwise=classwise, sampling=sampling, **changes)
    before = used(search)
    for _ in range(70):
        search.step()
    after = used(search)
    flip, others = after[:, 0] / before[:, 0], after[:, 1:] / before[:, 1:]
    assert (flip < 0.7).all()
    assert (flip[:, None] < others).all()


def test_a_mixture_moves_away_from_it_too() -> None:
    """The paper's ablation without sampling: all operations are blended."""
    search = searcher(sampling="mixture")
    for _ in range(70):
        search.step()
    assert used(search)[0, 0] < used(search)[0, 1:].min()


@pytest.mark.parametrize("sampling", ["stage", "subpolicy"])
def test_one_choice_per_batch_learns_too(sampling: str) -> None:
    search = searcher(classwise=True, sampling=sampling, granularity="batch")
    for _ in range(120):
        search.step()
    assert (used(search)[:, 0] < used(search)[:, 1:].min(1)).all()


@pytest.mark.parametrize(
    ("sampling", "kind"),
    [("stage", StagedPolicy), ("subpolicy", EnumeratedPolicy), ("mixture", MixturePolicy)],
)
def test_sampling_decides_the_kind_of_policy(sampling: str, kind: type) -> None:
    assert type(searcher(sampling=sampling).policy) is kind


def test_nothing_moves_during_warmup() -> None:
    search = searcher(warmup_epochs=2)
    start = copy.deepcopy(search.policy.state_dict())
    for _ in range(2 * search.steps_per_epoch):
        assert search.step().reward is None
    assert all(torch.equal(start[k], v) for k, v in search.policy.state_dict().items())
    assert search.step().reward is not None
    assert not all(torch.equal(start[k], v) for k, v in search.policy.state_dict().items())


def test_resumes_to_the_same_bytes() -> None:
    whole = searcher()
    events = [whole.step() for _ in range(20)]
    first = searcher()
    for _ in range(12):
        first.step()
    state = copy.deepcopy(first.state_dict())
    second = searcher()
    second.load_state_dict(state)
    assert [second.step() for _ in range(8)] == events[12:]
    expected = whole.policy.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in second.policy.state_dict().items())


def test_extra_passes_leave_batch_norm_alone() -> None:
    """Statistics are updated once per step, by the training pass."""
    search = searcher(warmup_epochs=0)
    for _ in range(7):
        search.step()
    assert int(search.model[1].num_batches_tracked) == 7


def test_rewards_are_those_of_the_mean_weights_without_dropout() -> None:
    search = searcher(smoothing=1.0, batch_size=64, warmup_epochs=0, valid_memory=0.0)
    met = [{name: p.detach().clone() for name, p in search.model.named_parameters()}]
    for _ in range(3):
        search.step()
        met.append({name: p.detach().clone() for name, p in search.model.named_parameters()})
    # One step is one epoch here, so the mean goes back to the weights before the last step only.
    torch.testing.assert_close(search.mean_weights, met[-2])
    search.settings = dataclasses.replace(search.settings, smoothing=3.0)
    search.step()
    expected = {name: value + (met[-1][name] - value) / 3 for name, value in met[-2].items()}
    torch.testing.assert_close(search.mean_weights, expected)
    x, y = search.problem.training_batch(torch.arange(64))
    gradient = {name: torch.zeros_like(value) for name, value in expected.items()}
    first, _, _ = search._rewards(gradient, x, y, x, y)
    search.seeds = Seeds(7)  # other masks, if there were any
    again, _, _ = search._rewards(gradient, x, y, x, y)
    torch.testing.assert_close(first, again, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_rewards_are_compared_with_those_of_the_windows_left_as_they_are(
    smoothing: float,
) -> None:
    """Whether all windows, some or none of them were changed, and with BatchNorm and dropout."""
    search = searcher(warmup_epochs=0, smoothing=smoothing, valid_memory=0.0)
    for _ in range(3):
        search.step()
    x, y = search.problem.training_batch(torch.arange(16))
    gradient = {name: torch.zeros_like(value) for name, value in search.mean_weights.items()}
    expected, _, _ = search._rewards(gradient, x, y, x, y)
    for n_changed in (0, 5, 16):
        augmented = torch.cat([-x[:n_changed], x[n_changed:]])
        rewards, baseline, _ = search._rewards(gradient, x, y, augmented, y)
        torch.testing.assert_close(baseline, expected, rtol=1e-3, atol=1e-3)
        assert n_changed == 0 or (rewards - baseline)[:n_changed].abs().min() > 0.01


def test_entropy_falls_from_one() -> None:
    search = searcher()
    events = [search.step() for _ in range(70)]
    assert events[0].entropy == pytest.approx(1.0)
    assert events[-1].entropy < 0.99


def test_a_loss_that_is_not_a_number_stops_the_search() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.scale * torch.nan * x[:, 0, :2]

    broken = problem(lambda seed: Broken())
    search = BilevelSearcher(broken, BilevelSettings(), classwise=False)
    with pytest.raises(TrainingError, match="became nan in step 1 of the search"):
        search.step()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimator": "reinforce"}, "`estimator` must be '"),
        ({"sampling": "all"}, "`sampling` must be '"),
        ({"hypergradient": "none"}, "`hypergradient` must be '"),
        ({"confidence": "lost"}, "`confidence` must be '"),
        ({"smoothing": -1}, "`smoothing` must be at least 0"),
        ({"warmup_epochs": -1}, "`warmup_epochs` must be at least 0"),
        ({"policy_lr": 0}, "`policy_lr` must be above 0"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BilevelSettings(**changes)
