"""Splits: no subject on two sides, classes spread evenly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cadda.data.io.read import read_windows
from cadda.data.simulation.nights import simulate_sleep
from cadda.data.splits import (
    balanced_subset,
    check_no_leak,
    log2_subsets,
    split_subjects,
    stratified_subset,
)
from cadda.data.windows import Windows
from cadda.exceptions import LeakError


def make(n_subjects: int = 20, n_windows: int = 30, seed: int = 0) -> Windows:
    rng = np.random.default_rng(seed)
    n = n_subjects * n_windows
    # Every subject has classes in proportions of its own.
    shares = rng.dirichlet(np.ones(3), size=n_subjects)
    y = np.concatenate([rng.choice(3, n_windows, p=share) for share in shares])
    return Windows(
        np.arange(n)[:, None, None] * np.ones((1, 2, 4)),
        y,
        subject=np.repeat(np.arange(n_subjects), n_windows),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["a", "b", "c"],
    )


def test_split_keeps_subjects_apart_and_loses_nobody() -> None:
    windows = make()
    parts = windows.split(valid=0.2, test=0.3, seed=1)
    assert [len(part.subjects) for part in parts] == [10, 4, 6]
    check_no_leak(train=parts[0], valid=parts[1], test=parts[2])
    everybody = [subject for part in parts for subject in part.subjects]
    assert sorted(everybody) == sorted(windows.subjects)
    assert sum(map(len, parts)) == len(windows)


def test_split_depends_on_the_seed() -> None:
    windows = make()
    once, again, other = (windows.split(seed=s)[2].subjects for s in (0, 0, 1))
    assert once == again != other


def test_classes_are_spread_more_evenly_than_by_chance() -> None:
    windows = make(n_subjects=12)
    overall = windows.class_counts() / len(windows)

    def unevenness(parts: list[Windows]) -> float:
        return sum(np.abs(part.class_counts() / len(part) - overall).sum() for part in parts)

    ours = np.mean([unevenness(list(windows.split(seed=s))) for s in range(10)])
    rng = np.random.default_rng(0)
    chance = []
    for _ in range(50):
        order = rng.permutation(windows.subjects)
        groups = np.split(order, [8, 10])
        chance.append(unevenness([windows.of_subjects(group.tolist()) for group in groups]))
    assert ours < 0.5 * np.mean(chance)


def test_folds_test_everybody_once() -> None:
    windows = make()
    tested = []
    for train, test in windows.folds(5, seed=0):
        check_no_leak(train=train, test=test)
        assert len(train) + len(test) == len(windows)
        tested += test.subjects
    assert sorted(tested) == sorted(windows.subjects)


def test_subsets_are_nested_and_stratified() -> None:
    windows = make()
    subsets = log2_subsets(windows, 5, seed=0)
    assert [fraction for fraction, _ in subsets] == [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
    before: set[float] = set()
    for fraction, subset in subsets:
        now = set(subset.x[:, 0, 0].tolist())
        assert before <= now
        np.testing.assert_allclose(
            subset.class_counts(), fraction * windows.class_counts(), atol=1
        )
        before = now
    assert len(subsets[-1][1]) == len(windows)


def test_at_least_one_subset() -> None:
    with pytest.raises(ValueError, match="`n_subsets` must be at least 1, got 0"):
        log2_subsets(make(), 0, seed=0)


def test_a_tiny_subset_keeps_every_class() -> None:
    assert (stratified_subset(make(), 1e-6, seed=0).class_counts() == 1).all()


def test_leak_raises() -> None:
    windows = make()
    with pytest.raises(LeakError, match="subject '3' is in both `train` and `test`; split by"):
        check_no_leak(train=windows.of_subjects(["1", "3"]), test=windows.of_subjects(["3"]))


@pytest.mark.parametrize(
    ("fractions", "match"),
    [
        ((0.5, 0.5), "leave something for training, got 0.5, 0.5"),
        ((0.0, 0.2), "fractions above 0"),
        ((-0.1,), "fractions above 0"),
    ],
)
def test_wrong_fractions(fractions: tuple[float, ...], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        split_subjects(make(), fractions, seed=0)


def test_too_few_subjects() -> None:
    with pytest.raises(ValueError, match="at least 3 subjects to split them, got 2"):
        make(2).split()
    with pytest.raises(ValueError, match=r"from 2 to the number of subjects, 4, got 5\.$"):
        list(make(4).folds(5))


def test_one_subject_because_nobody_was_named() -> None:
    epochs = simulate_sleep(n_subjects=4, n_windows=10).to_epochs()
    epochs.metadata = None
    windows = read_windows(epochs)
    words = r"1(, got 2)?; the only subject is 'epochs': .*`subject`"
    with pytest.raises(ValueError, match=f"at least 3 subjects to split them, got {words}"):
        windows.split()
    with pytest.raises(ValueError, match=f"from 2 to the number of subjects, {words}"):
        list(windows.folds(2))


def test_balanced_subset() -> None:
    windows = make()
    balanced = balanced_subset(windows, seed=0)
    assert balanced.class_counts().tolist() == [windows.class_counts().min()] * 3
    numbers = [set(part.x[:, 0, 0].tolist()) for part in (balanced, windows)]
    assert len(numbers[0]) == len(balanced)
    assert numbers[0] < numbers[1]
    again, other = balanced_subset(windows, seed=0), balanced_subset(windows, seed=1)
    assert torch.equal(balanced.x, again.x)
    assert not torch.equal(balanced.x, other.x)
    with pytest.raises(ValueError, match="must have windows of every class, got none of 'a'"):
        balanced_subset(windows[windows.y > 0], seed=0)
