"""Screening on windows whose truth is known, and where there is nothing to find."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda import OperationPool, Screening, Windows, screen
from cadda.operations.base import Operation
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.reporting.records import ScreeningRow
from cadda.screening.controls import destructive_controls
from cadda.screening.design import ScreeningProgress, ScreeningSettings, split_into_parts
from cadda.screening.rewards import collect_trials, label_rewards
from cadda.screening.verdicts import Trials
from cadda.searchers.gradient.reward import window_rewards
from cadda.testing.planted import planted_windows
from cadda.training.problem import Problem

SFREQ = 100.0
QUICK = {"n_rounds": 40, "windows_per_round": 48, "draws": 4, "n_epochs": 20, "max_warmup": 30}


def network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_channels, 12, 15),
        nn.ReLU(),
        nn.MaxPool1d(4),
        nn.Conv1d(12, 12, 5),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(48, n_classes),
    )


def windows_of(x: torch.Tensor, y: torch.Tensor, n_subjects: int, who: str) -> Windows:
    n_classes = int(y.max()) + 1
    subject = [f"{who}{i // n_classes % n_subjects}" for i in range(len(y))]
    names = [f"class{i}" for i in range(n_classes)]
    return Windows(x[:, None], y, subject=subject, sfreq=SFREQ, ch_names=["Cz"], class_names=names)


def waves(n: int, seed: int, who: str) -> Windows:
    """Make oscillations told apart by their frequency, with any phase: 3, 5 or 7 Hz.

    Their sign and direction in time are of no consequence, so turning them makes new windows of
    the same class. A shift in frequency makes other classes.
    """
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    turns = (3.0 + 2 * y)[:, None] * torch.arange(160) / SFREQ + torch.rand(n, 1, generator=g)
    x = torch.sin(2 * torch.pi * turns) + torch.randn(n, 160, generator=g)
    return windows_of(x, y, 16, who)


def bumps(n: int, seed: int, who: str) -> Windows:
    """Make windows told apart by the sign of a bump, each its own mirror image in time."""
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    bump = torch.exp(-((torch.linspace(-1, 1, 80) / 0.3) ** 2)) * (1 - 2 * y.float())[:, None]
    x = bump + 0.6 * torch.randn(n, 80, generator=g)
    return windows_of((x + x.flip(1)) / 2, y, 6, who)


def row_of(found: Screening, operation: str, class_name: str = "*") -> ScreeningRow:
    (row,) = (
        row
        for row in found.table
        if (row.operation, row.class_name, row.magnitude) == (operation, class_name, None)
    )
    return row


@pytest.fixture(scope="module")
def of_waves() -> Screening:
    names = ["sign_flip", "time_reverse", "gaussian_noise", "frequency_shift"]
    train, valid = waves(48, 0, "a"), waves(300, 1, "b")
    return screen(train, valid, model=network, operations=names, lr=3e-3, **QUICK)


def test_invariances_are_rewarded(of_waves: Screening) -> None:
    destroyed = max(row_of(of_waves, control).reward for control in of_waves.named("control"))
    for operation in ("sign_flip", "time_reverse"):
        row = row_of(of_waves, operation)
        assert row.reward > max(0.0, destroyed)
        assert row.verdict != "hurts"
    assert of_waves.named("control") == ("white_noise", "block_shuffle")
    assert of_waves.independent == ("16 subjects", "16 subjects")
    assert of_waves.accuracy >= 0.85


def test_what_makes_other_classes_is_not_rewarded(of_waves: Screening) -> None:
    row = row_of(of_waves, "frequency_shift")
    assert row.reward < 0
    assert row.verdict != "helps"


def test_a_turned_sign_hurts_and_a_mirror_image_does_nothing() -> None:
    screening = screen(
        bumps(80, 0, "a"),
        bumps(80, 1, "b"),
        model=network,
        operations=["sign_flip", "time_reverse"],
        lr=3e-3,
        **QUICK,
    )
    for class_name in ("*", "class0", "class1"):
        assert screening.named("hurts", class_name) == ("sign_flip",)
    mirrored = [row for row in screening.table if row.operation == "time_reverse"]
    assert max(abs(row.reward) for row in mirrored) < 1e-4
    assert {row.verdict for row in mirrored} == {"undecided"}


@pytest.mark.parametrize("seed", range(2))
def test_verdicts_differ_by_class(seed: int) -> None:
    """A turned sign makes decays that validation has and training lacks, and destroys dips."""
    screening = screen(
        planted_windows(120, varied=False, seed=seed),
        planted_windows(160, varied=True, seed=seed + 1000),
        model=network,
        operations=["sign_flip", "time_reverse", "gaussian_noise"],
        lr=3e-3,
        seed=seed,
        **QUICK,
    )
    assert screening.independent == ("120 windows", "160 windows")  # there are only four subjects
    assert row_of(screening, "sign_flip", "decay").verdict == "helps"
    for operation, class_name, sign in (
        ("sign_flip", "decay", 1),
        ("sign_flip", "dip", -1),
        ("time_reverse", "sweep", 1),
    ):
        row = row_of(screening, operation, class_name)
        assert sign * row.reward > 3 * row.standard_error
        assert row.verdict != ("hurts" if sign > 0 else "helps")
    assert "gaussian_noise" not in screening.summary()


class Same(Operation):
    """The identity under another name."""

    name = "same"
    has_magnitude = False

    def sample(
        self, x: torch.Tensor, generator: torch.Generator | None
    ) -> dict[str, torch.Tensor]:
        return {}

    def apply(
        self, x: torch.Tensor, magnitude: torch.Tensor, draw: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        return x.clone()


def false_verdicts(train: Windows, valid: Windows, seed: int) -> list[ScreeningRow]:
    """Give all verdicts where validation has nothing to do with training."""
    pool = OperationPool([Same(), SignFlip(), TimeReverse(), GaussianNoise()])
    screening = screen(train, valid, model=network, operations=pool, lr=3e-3, seed=seed, **QUICK)
    assert row_of(screening, "same").reward == row_of(screening, "same").standard_error == 0
    return [row for row in screening.table if row.verdict in ("helps", "hurts")]


@pytest.mark.parametrize("kind", ["waves", "planted"])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_helps_or_hurts_where_validation_labels_are_exchanged(
    kind: str, seed: int
) -> None:
    """The labels of validation windows are dealt out anew, so nothing can be learned for them."""
    if kind == "waves":
        train, valid = waves(48, 2 * seed, "a"), waves(150, 2 * seed + 1, "b")
    else:  # A turned sign makes windows that the model takes for another class, and is sure of it.
        train = planted_windows(120, varied=False, seed=seed)
        valid = planted_windows(160, varied=True, seed=seed + 1000)
    order = torch.randperm(len(valid), generator=torch.Generator().manual_seed(seed))
    dealt = Windows(
        valid.x,
        valid.y[order],
        subject=valid.subject,
        sfreq=SFREQ,
        ch_names=["Cz"],
        class_names=valid.class_names,
    )
    assert false_verdicts(train, dealt, seed) == []


@pytest.mark.parametrize("seed", range(3))
def test_nothing_helps_or_hurts_where_there_is_only_noise(seed: int) -> None:
    x = torch.randn(150, 80, generator=torch.Generator().manual_seed(seed))
    y = torch.arange(150) % 2
    train, valid = windows_of(x[:60], y[:60], 6, "a"), windows_of(x[60:], y[60:], 6, "b")
    assert false_verdicts(train, valid, seed) == []


# The trials themselves


def small_problem() -> Problem:
    train, valid = bumps(50, 0, "a"), bumps(40, 1, "b")
    pool = OperationPool([SignFlip(), TimeReverse(), GaussianNoise()])

    def make(seed: int) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Sequential(
                nn.Conv1d(1, 4, 9), nn.BatchNorm1d(4), nn.Tanh(), nn.Flatten(), nn.Dropout(0.5),
                nn.Linear(4 * 72, 2),
            )  # fmt: skip

    data = ((train.x, train.y), (valid.x, valid.y), train.class_names)
    return tensor_problem(*data, make, pool=pool)


def small_trials(**changes: object) -> Trials:
    settings = ScreeningSettings(
        magnitudes=(0.5, 1.0), n_rounds=6, windows_per_round=20, draws=3, n_epochs=2, max_warmup=2
    )
    changed = dataclasses.replace(settings, **changes)
    return collect_trials(
        small_problem(), destructive_controls(SFREQ), changed, valid_cluster=torch.arange(40)
    )[0]


def test_every_operation_and_magnitude_comes_equally_often_in_every_class() -> None:
    trials = small_trials()
    cell = (trials.operation * 2 + trials.magnitude) * 2 + trials.label
    counts = torch.bincount(cell, minlength=5 * 2 * 2)
    assert int(counts.sum()) == 6 * 20 * 3
    assert int(counts.max() - counts.min()) <= 1
    uses = torch.bincount(trials.window, minlength=50)
    assert int(uses.max() - uses.min()) <= 3


def test_same_seed_same_rewards_and_nothing_else_is_touched() -> None:
    state = torch.random.get_rng_state()
    first, second, other = small_trials(), small_trials(), small_trials(seed=1)
    assert torch.equal(first.reward, second.reward)
    assert not torch.equal(first.reward, other.reward)
    assert torch.equal(state, torch.random.get_rng_state())


def test_rewards_with_each_label_are_exact_derivatives() -> None:
    problem, g = small_problem(), torch.Generator().manual_seed(0)
    model = problem.make_model(0).double().eval()
    weights = {name: value.detach() for name, value in model.named_parameters()}
    v = {n: torch.randn(w.shape, generator=g, dtype=w.dtype) for n, w in weights.items()}
    x = problem.train.x[:5].double()
    rewards = label_rewards(model, weights, v, x)
    for label in range(2):
        y = torch.full((5,), label)
        exact = window_rewards(model, weights, v, x, y, method="exact", noise_seed=0)
        torch.testing.assert_close(rewards[:, label], exact, rtol=1e-3, atol=1e-4)


def test_rewards_have_the_size_of_the_controls_in_every_turn() -> None:
    trials = small_trials(n_parts=3)
    turn = torch.arange(6).repeat_interleave(60) // 3
    for number in range(2):
        is_control = (trials.operation >= 3) & (turn == number)
        assert trials.reward[is_control].square().mean() == pytest.approx(1.0, abs=1e-4)


def test_weights_follow_a_running_mean() -> None:
    assert not torch.allclose(small_trials().reward, small_trials(smoothing=0.0).reward)


def test_parts_share_no_subject_and_spread_the_classes() -> None:
    stream = torch.Generator().manual_seed(0)
    subject, y = torch.arange(60) // 5, torch.arange(60) % 3
    part = split_into_parts(subject, y, 4, stream)
    assert torch.bincount(part).tolist() == [15, 15, 15, 15]
    assert all(len(part[subject == number].unique()) == 1 for number in range(12))
    part = split_into_parts(torch.arange(60), y, 4, stream)
    assert torch.bincount(4 * y + part).tolist() == [5] * 12


def test_progress_reaches_its_end() -> None:
    events: list[ScreeningProgress] = []
    settings = ScreeningSettings(n_rounds=7, n_epochs=2, max_warmup=3, min_accuracy=1.1)
    collect_trials(
        small_problem(),
        destructive_controls(SFREQ),
        settings,
        valid_cluster=torch.arange(40),
        on_event=events.append,
    )
    assert [event.n_rounds for event in events] == [0, 0, 0, *range(1, 8)]
    assert events[-1].done == events[-1].total
    assert [event.done for event in events] == sorted(event.done for event in events)
