"""Verdicts on made-up rewards: how often they are wrong, and whether effects are found."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from cadda.screening.verdicts import Trials, average, reach_verdicts

HALVES = torch.tensor([0.5, 0.5])


def random_trials(
    seed: int,
    *,
    subjects: float,
    parts: float,
    shift: float = 0.0,
    others: float = -20.0,
    n_subjects: int = 8,
    n_parts: int = 20,
) -> tuple[Trials, torch.Tensor]:
    """Make rewards of three operations, with effects of subjects and parts.

    A control, and all of them with random labels, are at ``others``.
    """
    g = torch.Generator().manual_seed(seed)
    n_windows, n = 10 * n_subjects, 2400
    subject = torch.arange(n_windows) % n_subjects
    window, operation = (torch.randint(k, (n,), generator=g) for k in (n_windows, 4))
    part = torch.arange(n) % n_parts
    reward = torch.randn(n, generator=g)
    reward += subjects * torch.randn(n_subjects, 4, generator=g)[subject[window], operation]
    reward += parts * torch.randn(n_parts, 4, generator=g)[part, operation]
    reward += torch.where(operation < 3, shift, others)
    label = window // n_subjects % 2
    zero, names = torch.zeros_like(operation), ("one", "two", "three", "noise")
    columns = (operation, zero, window, label, part, reward, torch.full_like(reward, others))
    return Trials(names, 1, (False,) * 4, (1.0,), *columns), subject


def rate_of_verdicts(
    *, n_seeds: int = 200, by_subject: bool = True, classes: bool = False, **effects: float
) -> float:
    """Count how often any of the operations gets a verdict."""
    n_any = 0
    for seed in range(n_seeds):
        trials, subject = random_trials(seed, **effects)
        cluster = subject if by_subject else torch.arange(len(subject))
        rows = reach_verdicts(trials, ("a", "b"), HALVES, cluster)
        n_any += any(
            row.verdict in ("helps", "hurts") for row in rows if (row.class_name != "*") == classes
        )
    return n_any / n_seeds


@pytest.mark.parametrize("others", [-20.0, 20.0])
@pytest.mark.parametrize(("subjects", "parts"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_neutral_operations_get_few_verdicts(subjects: float, parts: float, others: float) -> None:
    """Under every kind of dependence, however controls fare."""
    rate = rate_of_verdicts(subjects=subjects, parts=parts, others=others)
    # 5 % is allowed; of 200 seeds, 8 % would be 2 standard errors more.
    assert rate < 0.08


@pytest.mark.parametrize("n", [(20, 8), (60, 60)])
def test_the_same_for_classes_and_other_numbers(n: tuple[int, int]) -> None:
    numbers = {"n_subjects": n[0], "n_parts": n[1]}
    assert rate_of_verdicts(subjects=0.4, parts=0.4, classes=True, **numbers) < 0.08


def test_counting_windows_of_a_subject_as_independent_gives_many_wrong_verdicts() -> None:
    assert rate_of_verdicts(by_subject=False, subjects=0.5, parts=0, n_seeds=50) > 0.3


def test_effects_are_found_through_the_same_noise() -> None:
    effects = {"subjects": 0.4, "parts": 0.4, "n_seeds": 40}
    assert rate_of_verdicts(shift=1.5, **effects) > 0.95
    assert rate_of_verdicts(shift=-1.5, others=0.0, **effects) > 0.95


def test_standard_errors_are_those_of_repetition() -> None:
    """Over many repetitions, means spread as much as one repetition says."""
    effects = {"subjects": 0.4, "parts": 0.4, "n_subjects": 40, "n_parts": 40}
    repetitions = (random_trials(seed, **effects) for seed in range(150))
    tables = [average(t, t.reward, HALVES, s) for t, s in repetitions]
    spread = torch.stack([means.mean for means in tables]).std(0)
    expected = torch.stack([means.standard_error() for means in tables]).square().mean(0).sqrt()
    torch.testing.assert_close(expected, spread, rtol=0.2, atol=0)


def constant_trials(
    rewards: dict[str, float], n_controls: int, relabelled: float = 0.0
) -> tuple[Trials, torch.Tensor]:
    """Make rewards with a little noise around given means."""
    g = torch.Generator().manual_seed(0)
    n_windows, n_parts, n_operations = 40, 10, len(rewards)
    shape = (n_parts, n_windows, n_operations)
    index = torch.meshgrid(*(torch.arange(k) for k in shape), indexing="ij")
    part, window, operation = (column.flatten() for column in index)
    reward = torch.tensor(list(rewards.values()))[operation]
    reward = reward + 0.01 * torch.randn(len(reward), generator=g)
    zero, graded = torch.zeros_like(window), (False,) * n_operations
    random = torch.full_like(reward, relabelled)
    columns = (operation, zero, window, window % 2, part, reward, random)
    return Trials(tuple(rewards), n_controls, graded, (1.0,), *columns), torch.arange(40) // 4


def verdicts(
    rewards: dict[str, float], relabelled: float, class_name: str = "*"
) -> dict[str, str]:
    trials, subject = constant_trials(rewards, 2, relabelled)
    rows = reach_verdicts(trials, ("a", "b"), HALVES, subject)
    return {row.operation: row.verdict for row in rows if row.class_name == class_name}


@pytest.mark.parametrize("class_name", ["*", "a"])
def test_help_must_go_beyond_the_controls_and_random_labels(class_name: str) -> None:
    rewards = {"good": 0.9, "as noise": 0.5, "weak": 0.2, "noise": 0.5, "blocks": 0.1}
    by_operation = verdicts(rewards, 0.0, class_name)
    assert by_operation == {
        "good": "helps",
        "as noise": "undecided",
        "weak": "undecided",
        "noise": "control",
        "blocks": "control",
    }
    assert verdicts(rewards, 1.0, class_name)["good"] == "undecided"


def test_harm_must_be_worse_than_random_labels_and_in_a_class_than_the_controls() -> None:
    rewards = {"weak": -0.1, "wrong": -0.7, "worse": -2.0, "noise": -1.0, "blocks": -0.8}
    by_operation = verdicts(rewards, -0.4)
    assert [by_operation[name] for name in ("weak", "wrong", "worse")] == [
        "undecided",
        "hurts",
        "hurts",
    ]
    by_operation = verdicts(rewards, -0.4, "a")
    assert [by_operation[name] for name in ("weak", "wrong", "worse")] == ["undecided"] * 2 + [
        "hurts"
    ]


def test_all_classes_are_weighed_by_their_share() -> None:
    trials, subject = constant_trials({"one": 0.0, "noise": -1.0}, 1)
    in_a = (trials.label == 0) & (trials.operation == 0)
    trials = dataclasses.replace(trials, reward=trials.reward + in_a)
    rows = reach_verdicts(trials, ("a", "b"), torch.tensor([0.25, 0.75]), subject)
    (row,) = (row for row in rows if (row.operation, row.class_name) == ("one", "*"))
    assert row.reward == pytest.approx(0.25, abs=0.01)
    assert row.n == 400


def test_a_class_without_windows_has_no_row() -> None:
    trials, subject = constant_trials({"one": 0.0, "noise": -1.0}, 1)
    trials = dataclasses.replace(trials, label=2 * trials.label)
    rows = reach_verdicts(trials, ("a", "b", "c"), torch.tensor([0.5, 0.0, 0.5]), subject)
    assert {row.class_name for row in rows} == {"*", "a", "c"}


@pytest.mark.parametrize("alone", ["subject", "part"])
def test_one_subject_or_one_part_alone_decides_nothing(alone: str) -> None:
    trials, subject = constant_trials({"one": 5.0, "noise": -1.0}, 1)
    if alone == "part":
        trials = dataclasses.replace(trials, part=torch.zeros_like(trials.part))
    else:
        subject = torch.zeros_like(subject)
    rows = reach_verdicts(trials, ("a", "b"), HALVES, subject)
    assert all(math.isnan(row.standard_error) for row in rows)
    assert {row.verdict for row in rows} == {"undecided", "control"}
