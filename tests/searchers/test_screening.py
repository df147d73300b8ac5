"""Screening on windows whose truth is known, and its errors where there is nothing to find."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from scipy import stats
from torch import nn

from cadda import OperationPool, Windows
from cadda.exceptions import DataError
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.reporting.screening import plot_screening
from cadda.screening import Screening, screen
from cadda.searchers.controls import destructive_controls
from cadda.searchers.inference import Trials, holm, upper_tail
from cadda.searchers.screening import ScreeningProgress, ScreeningSettings, collect_trials
from cadda.searchers.task import SearchTask
from cadda.searchers.verdicts import HARM, ScreeningRow, judge
from cadda.testing.planted import planted_windows

SFREQ = 100.0
QUICK = {"n_rounds": 24, "windows_per_round": 36, "draws": 4, "n_epochs": 12, "max_warmup": 30}


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
    """Make oscillations told apart by their frequency, with any phase: 6, 10 or 14 Hz.

    Their sign and direction in time are of no consequence, so turning them makes new windows of
    the same class. A shift in frequency makes other classes.
    """
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    turns = (6.0 + 4 * y)[:, None] * torch.arange(120) / SFREQ + torch.rand(n, 1, generator=g)
    x = torch.sin(2 * torch.pi * turns) + 0.8 * torch.randn(n, 120, generator=g)
    return windows_of(x, y, 6, who)


def bumps(n: int, seed: int, who: str) -> Windows:
    """Make windows told apart by the sign of a bump, each its own mirror image in time."""
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    bump = torch.exp(-((torch.linspace(-1, 1, 80) / 0.3) ** 2)) * (1 - 2 * y.float())[:, None]
    x = bump + 0.6 * torch.randn(n, 80, generator=g)
    return windows_of((x + x.flip(1)) / 2, y, 6, who)


def verdict(found: Screening, operation: str, class_name: str = "*") -> str:
    (row,) = (
        row
        for row in found.table
        if (row.operation, row.class_name, row.magnitude) == (operation, class_name, None)
    )
    return row.verdict


@pytest.fixture(scope="module")
def of_waves() -> Screening:
    names = ["sign_flip", "time_reverse", "gaussian_noise", "frequency_shift"]
    train, valid = waves(60, 0, "a"), waves(150, 1, "b")
    return screen(train, valid, model=network, operations=names, lr=3e-3, **QUICK)


def test_invariances_help_and_what_makes_other_classes_hurts(of_waves: Screening) -> None:
    assert set(of_waves.named("helps")) >= {"sign_flip", "time_reverse"}
    assert of_waves.named("hurts") == ("frequency_shift",)
    assert of_waves.named("control") == ("white_noise", "block_shuffle")
    assert of_waves.by == "subject"
    assert of_waves.n_clusters == 6
    assert of_waves.accuracy >= 0.85


def test_a_turned_sign_hurts_and_a_mirror_image_does_nothing() -> None:
    found = screen(
        bumps(80, 0, "a"),
        bumps(80, 1, "b"),
        model=network,
        operations=["sign_flip", "time_reverse"],
        lr=3e-3,
        **QUICK,
    )
    assert found.named("hurts") == ("sign_flip",)
    assert verdict(found, "sign_flip", "class0") == "hurts"
    assert verdict(found, "sign_flip", "class1") == "hurts"
    mirrored = [row for row in found.table if row.operation == "time_reverse"]
    assert max(abs(row.reward) for row in mirrored) < 1e-4
    assert {row.verdict for row in mirrored} == {"undecided"}


def test_verdicts_differ_by_class() -> None:
    """A turned sign makes decays that validation has and training lacks, and destroys dips."""
    found = screen(
        planted_windows(120, varied=False, seed=0),
        planted_windows(120, varied=True, seed=1000),
        model=network,
        operations=["sign_flip", "time_reverse", "gaussian_noise"],
        lr=3e-3,
        **QUICK,
    )
    assert found.by == "window"  # there are only four subjects
    assert verdict(found, "sign_flip", "decay") == "helps"
    assert verdict(found, "sign_flip", "dip") == "hurts"
    assert verdict(found, "time_reverse", "sweep") == "helps"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_helps_where_labels_are_random(seed: int) -> None:
    """The model overfits all the same, and then whatever lowers its confidence is rewarded."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(150, 80, generator=g)
    y = torch.arange(150) % 2
    found = screen(
        windows_of(x[:60], y[:60], 6, "a"),
        windows_of(x[60:], y[60:], 6, "b"),
        model=network,
        operations=["sign_flip", "time_reverse", "ft_surrogate"],
        lr=3e-3,
        seed=seed,
        **QUICK,
    )
    above = [row for row in found.table if row.class_name == "*" and row.magnitude is None]
    # Against the identity alone, all of them would seem to help, the controls first of all.
    assert all(row.reward > 4 * row.standard_error for row in above)
    assert found.named("helps") == found.named("hurts") == ()


# Statistics


def random_trials(
    seed: int, *, subjects: float, rounds: float, shift: float = 0.0
) -> tuple[Trials, torch.Tensor]:
    """Make rewards of three operations and a control that share effects of subjects and rounds."""
    g = torch.Generator().manual_seed(seed)
    n_subjects, n_windows, n_rounds, n = 8, 80, 20, 2400
    subject = torch.arange(n_windows) % n_subjects
    window, operation = (torch.randint(k, (n,), generator=g) for k in (n_windows, 4))
    number = torch.arange(n) % n_rounds
    reward = torch.randn(n, generator=g)
    reward += subjects * torch.randn(n_subjects, 4, generator=g)[subject[window], operation]
    reward += rounds * torch.randn(n_rounds, 4, generator=g)[number, operation]
    reward += torch.where(operation < 3, shift, -20.0)
    label = torch.arange(n_windows)[window] // 8 % 2
    zero = torch.zeros_like(operation)
    names = ("one", "two", "three", "noise")
    graded = (False,) * 4
    trials = Trials(names, 1, graded, (1.0,), operation, zero, window, label, number, reward)
    return trials, subject


def rate_of_verdicts(*, by_subject: bool = True, n_seeds: int = 150, **effects: float) -> float:
    """Count how often any of the operations gets a verdict."""
    n_any = 0
    for seed in range(n_seeds):
        trials, subject = random_trials(seed, **effects)
        cluster = subject if by_subject else torch.arange(len(subject))
        rows = judge(trials, ("a", "b"), torch.tensor([0.5, 0.5]), cluster)
        n_any += any(row.verdict in ("helps", "hurts") for row in rows if row.class_name == "*")
    return n_any / n_seeds


@pytest.mark.parametrize("effects", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.4, 0.4)])
def test_neutral_operations_get_few_verdicts(effects: tuple[float, float]) -> None:
    subjects, rounds = effects
    rate = rate_of_verdicts(subjects=subjects, rounds=rounds)
    # 5 % is asked for; of 150 seeds, 9 % would be 2.2 standard errors more.
    assert rate < 0.09


def test_counting_windows_of_a_subject_as_independent_gives_many_wrong_verdicts() -> None:
    assert rate_of_verdicts(by_subject=False, subjects=0.5, rounds=0.0) > 0.3


def test_effects_are_found_through_the_same_noise() -> None:
    assert rate_of_verdicts(subjects=0.4, rounds=0.4, shift=1.5, n_seeds=40) > 0.95


def constant_trials(rewards: dict[str, float], n_controls: int) -> tuple[Trials, torch.Tensor]:
    """Make rewards with a little noise around given means."""
    g = torch.Generator().manual_seed(0)
    n_windows, n_rounds, n_operations = 40, 10, len(rewards)
    shape = (n_rounds, n_windows, n_operations)
    index = torch.meshgrid(*(torch.arange(k) for k in shape), indexing="ij")
    number, window, operation = (one.flatten() for one in index)
    reward = torch.tensor(list(rewards.values()))[operation]
    reward = reward + 0.01 * torch.randn(len(reward), generator=g)
    zero, graded = torch.zeros_like(window), (False,) * n_operations
    trials = Trials(
        tuple(rewards), n_controls, graded, (1.0,), operation, zero, window, window % 2, number,
        reward,
    )  # fmt: skip
    return trials, torch.arange(n_windows) // 4


def test_what_no_more_than_a_control_does_not_help() -> None:
    rewards = {"better": 0.9, "alike": 0.5, "worse": 0.2, "noise": 0.5, "blocks": 0.1}
    trials, subject = constant_trials(rewards, 2)
    rows = judge(trials, ("a", "b"), torch.tensor([0.5, 0.5]), subject)
    found = {row.operation: row.verdict for row in rows if row.class_name == "*"}
    assert found == {
        "better": "helps",
        "alike": "undecided",
        "worse": "undecided",
        "noise": "control",
        "blocks": "control",
    }


def test_harm_must_be_noticeable_but_not_as_bad_as_destroying() -> None:
    rewards = {"slight": -0.6 * HARM, "harm": -2 * HARM, "noise": -1.0, "blocks": -0.8}
    trials, subject = constant_trials(rewards, 2)
    rows = judge(trials, ("a", "b"), torch.tensor([0.5, 0.5]), subject)
    for class_name in ("*", "a", "b"):
        found = {row.operation: row.verdict for row in rows if row.class_name == class_name}
        assert found["slight"] == "undecided"
        assert found["harm"] == "hurts"


def test_where_destroying_helps_a_class_harm_in_a_class_must_be_worse_than_destroying() -> None:
    rewards = {"some": -0.5, "worst": -1.5, "noise": 0.0, "blocks": 0.0}
    trials, subject = constant_trials(rewards, 2)
    # Validation wants more of class b and less of class a.
    bent = torch.where(trials.label == 0, -1.0, 1.0) * (trials.operation > 1)
    trials = dataclasses.replace(trials, reward=trials.reward + bent)
    rows = judge(trials, ("a", "b"), torch.tensor([0.5, 0.5]), subject)
    found = {(row.operation, row.class_name): row.verdict for row in rows}
    assert found["some", "a"] == "undecided"
    assert found["worst", "a"] == "hurts"
    assert found["some", "*"] == found["worst", "*"] == "hurts"


def test_all_classes_are_weighed_by_their_share() -> None:
    trials, subject = constant_trials({"one": 0.0, "noise": -1.0}, 1)
    in_a = (trials.label == 0) & (trials.operation == 0)
    trials = dataclasses.replace(trials, reward=trials.reward + in_a)
    rows = judge(trials, ("a", "b"), torch.tensor([0.25, 0.75]), subject)
    (row,) = (row for row in rows if (row.operation, row.class_name) == ("one", "*"))
    assert row.reward == pytest.approx(0.25, abs=0.01)
    assert row.n == 400


def test_one_subject_alone_decides_nothing() -> None:
    trials, subject = constant_trials({"one": 5.0, "noise": -1.0}, 1)
    rows = judge(trials, ("a", "b"), torch.tensor([0.5, 0.5]), torch.zeros_like(subject))
    assert all(math.isnan(row.standard_error) for row in rows)
    assert {row.verdict for row in rows} == {"undecided", "control"}


@pytest.mark.parametrize("degrees", [1, 2, 7, 30, 100])
def test_tail_of_student(degrees: int) -> None:
    t = torch.tensor([-3.0, 0.0, 0.5, 2.0, 8.0], dtype=torch.float64)
    expected = torch.from_numpy(stats.t.sf(t.numpy(), degrees))
    tail = upper_tail(t, torch.full_like(t, degrees))
    torch.testing.assert_close(tail, expected, rtol=1e-10, atol=0)


def test_holm() -> None:
    p = torch.tensor([[0.01, 0.04], [0.03, 0.005]])
    torch.testing.assert_close(holm(p), torch.tensor([[0.03, 0.06], [0.06, 0.02]]))


# The trials themselves


def small_task() -> SearchTask:
    train, valid = bumps(50, 0, "a"), bumps(40, 1, "b")
    pool = OperationPool([SignFlip(), TimeReverse(), GaussianNoise()])

    def make(seed: int) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Sequential(
                nn.Conv1d(1, 4, 9), nn.BatchNorm1d(4), nn.Tanh(), nn.Flatten(), nn.Dropout(0.5),
                nn.Linear(4 * 72, 2),
            )  # fmt: skip

    data = (train.x, train.y, valid.x, valid.y, train.class_names)
    return SearchTask(*data, pool, make, make, torch.device("cpu"))


def small_trials(**changes: object) -> Trials:
    settings = ScreeningSettings(
        magnitudes=(0.5, 1.0), n_rounds=6, windows_per_round=20, draws=3, n_epochs=2, max_warmup=2
    )
    changed = dataclasses.replace(settings, **changes)  # type: ignore[arg-type]
    return collect_trials(small_task(), destructive_controls(SFREQ), changed)[0]


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


def test_both_ways_to_compute_rewards_agree() -> None:
    near, exact = small_trials().reward, small_trials(hypergradient="exact").reward
    assert (near - exact).norm() < 0.02 * exact.norm()


def test_rewards_have_the_size_of_the_controls() -> None:
    trials = small_trials()
    for number in range(6):
        is_control = (trials.operation >= 3) & (trials.round == number)
        assert trials.reward[is_control].square().mean() == pytest.approx(1.0, abs=1e-4)


def test_weights_follow_a_running_mean_and_calibration_changes_rewards() -> None:
    plain = small_trials().reward
    assert not torch.allclose(plain, small_trials(smoothing=0.0).reward)
    assert not torch.allclose(plain, small_trials(calibrate=True).reward)


def test_progress_reaches_its_end() -> None:
    events: list[ScreeningProgress] = []
    settings = ScreeningSettings(n_rounds=7, n_epochs=2, max_warmup=3, min_accuracy=1.1)
    collect_trials(small_task(), destructive_controls(SFREQ), settings, on_event=events.append)
    assert [event.n_rounds for event in events] == [0, 0, 0, *range(1, 8)]
    assert events[-1].done == events[-1].total
    assert [event.done for event in events] == sorted(event.done for event in events)


# What users meet


def test_saved_and_read_again(of_waves: Screening, tmp_path: Path) -> None:
    row = dataclasses.replace(of_waves.table[0], standard_error=math.nan)
    kept = dataclasses.replace(of_waves, table=(row, *of_waves.table[1:]))
    kept.save(tmp_path / "screening.json")
    read = Screening.load(tmp_path / "screening.json")
    assert math.isnan(read.table[0].standard_error)
    assert read.table[1:] == kept.table[1:]
    assert (read.by, read.n_clusters, read.accuracy) == (kept.by, kept.n_clusters, kept.accuracy)
    assert read.settings["n_rounds"] == 24


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "is not the result of a screening"),
        ('{"format": "cadda-screening", "version": 7}', "is of version 7"),
        ('{"format": "cadda-screening", "version": 1}', "is not whole"),
        ('{"format": "cadda-screening", "version": 1, "table": [{}]}', "is not whole"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "screening.json"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        Screening.load(file)


def test_summary() -> None:
    def row(operation: str, class_name: str, verdict: str) -> ScreeningRow:
        return ScreeningRow(operation, None, class_name, 0.1, 0.1, 9, 0.5, verdict)  # type: ignore[arg-type]

    verdicts = {"sign_flip": "helps", "mask": "helps", "shift": "hurts", "drop": "undecided"}
    rows = [row(name, "*", value) for name, value in verdicts.items()]
    rows += [row("sign_flip", "N2", "helps"), row("drop", "N2", "hurts")]
    found = Screening(tuple(rows), "subject", 9, 0.9, {}, {})
    assert found.summary() == (
        "sign_flip and mask help; shift hurts; 1 is undecided. Beyond that, hurts in N2: drop."
    )


def test_picture(of_waves: Screening) -> None:
    figure = plot_screening(of_waves.table)
    words = {text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))}
    assert {"all", "class0", "sign flip", "white noise"} <= words
    assert any(word.startswith("▲") for word in words)
    assert any(word.startswith("frequency shift\n1: shift < 5 Hz") for word in words)
    only = [row for row in of_waves.table if row.operation in ("sign_flip", "white_noise")]
    assert len(plot_screening(only).axes) == 2


def test_a_model_that_does_not_overfit_is_mentioned() -> None:
    train, valid = waves(60, 0, "a"), waves(30, 1, "b")
    with pytest.warns(UserWarning, match="less than `min_accuracy` 85%"):
        screen(
            train, valid, model=network, operations=["sign_flip"], n_rounds=2, n_epochs=1,
            max_warmup=1, magnitudes=(1.0,),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_round": 3}, TypeError, "no setting `n_round` .did you mean `n_rounds`"),
        ({"n_rounds": 1, "windows_per_round": 3}, ValueError, "`n_rounds` must be at least"),
        ({"magnitudes": (0.0, 1.0)}, ValueError, r"`magnitudes` must be in \(0, 1\]"),
        ({"lr": 0.0}, ValueError, "`lr` must be a finite number above 0"),
        ({"by": "night"}, ValueError, "`by` must be 'auto', 'subject' or 'window'"),
        ({"operations": "sign_flip"}, TypeError, "`operations` must be a list of names"),
        ({"operations": ["sing_flip"]}, ValueError, "did you mean `sign_flip`"),
    ],
)
def test_mistakes(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        screen(waves(60, 0, "a"), waves(30, 1, "b"), model=network, **arguments)  # type: ignore[arg-type]


def test_a_class_that_validation_lacks() -> None:
    valid = waves(30, 1, "b")
    with pytest.raises(ValueError, match="but has none of 'class2'"):
        screen(waves(60, 0, "a"), valid[valid.y < 2], model=network)
