"""Splits: no subject on two sides, classes spread evenly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from cadda.data.io.read import read_windows
from cadda.data.simulation.nights import simulate_sleep
from cadda.data.splits import (
    balanced_subset,
    check_no_leak,
    log2_subsets,
    make_split,
    split_notes,
    split_subjects,
    stratified_split,
    stratified_subset,
)
from cadda.data.windows import Windows
from cadda.exceptions import DataWarning, LeakError


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


def other_preprocessing(windows: Windows, seed: int) -> Windows:
    """Return other windows of the same subjects: some dropped, in another order, other labels."""
    rng = np.random.default_rng(seed)
    first = [int(np.flatnonzero(windows.subject == name)[0]) for name in windows.subjects]
    some = rng.permutation(np.union1d(first, rng.choice(len(windows), len(windows) // 3)))
    return Windows(
        torch.randn(len(some), 3, 7),
        rng.integers(0, 2, len(some)),
        subject=windows.subject[some],
        sfreq=50,
        ch_names=["a", "b", "c"],
        class_names=["left", "right"],
    )


@pytest.mark.parametrize("seed", range(5))
def test_splits_depend_on_seed_and_names_only(seed: int) -> None:
    windows = make(13)
    other = other_preprocessing(windows, seed)
    assert other.subjects != windows.subjects
    for ours, theirs in zip(windows.split(seed=seed), other.split(seed=seed), strict=True):
        assert set(ours.subjects) == set(theirs.subjects)
    both = zip(windows.folds(4, seed=seed), other.folds(4, seed=seed), strict=True)
    for (train, test), (other_train, other_test) in both:
        assert set(train.subjects) == set(other_train.subjects)
        assert set(test.subjects) == set(other_test.subjects)


def test_one_subject_less_moves_few_others() -> None:
    """Of 20 subjects without one, at most one per part has to take the place of another."""
    windows = make()
    parts = [set(part.subjects) for part in windows.split(seed=0)]
    for name in windows.subjects:
        fewer = windows.of_subjects([other for other in windows.subjects if other != name])
        left = [set(part.subjects) for part in fewer.split(valid=4 / 19, test=6 / 19, seed=0)]
        assert sum(len(now - before) for now, before in zip(left, parts, strict=True)) <= 2


def test_the_test_subjects_do_not_depend_on_how_many_validate() -> None:
    windows = make()
    groups = {tuple(windows.split(valid=share, test=0.3)[2].subjects) for share in (0.1, 0.3, 0.5)}
    assert len(groups) == 1


def test_every_subject_is_tested_equally_often() -> None:
    """Over 400 seeds, each of ten subjects in 20 % of the splits, within 4 standard errors."""
    windows = make(10, n_windows=4)
    n_tested = dict.fromkeys(windows.subjects, 0)
    for seed in range(400):
        for name in windows.split(seed=seed)[2].subjects:
            n_tested[name] += 1
    error = (400 * 0.2 * 0.8) ** 0.5
    assert all(abs(count - 80) < 4 * error for count in n_tested.values())


@pytest.mark.parametrize(
    ("n_subjects", "n_test"),
    [(3, 1), (8, 2), (11, 2), (12, 6), (20, 6), (30, 6), (35, 7), (100, 20)],
)
def test_six_test_subjects_where_there_are_enough(n_subjects: int, n_test: int) -> None:
    windows = make(n_subjects, n_windows=6)
    assert len(windows.split()[2].subjects) == n_test
    split = make_split(windows, valid=0.2, test=None, seed=0)
    notes = [note for note in split_notes(windows, split) if "for testing" in note]
    assert bool(notes) == (n_test < 6)
    if notes:
        verb = "is" if n_test == 1 else "are"
        assert notes[0].startswith(f"Only {n_test} of {n_subjects} subjects {verb} for testing: ")
        assert "fewer than 6; use at least 12 subjects, or `cadda compare`" in notes[0]


def test_six_are_not_enough_to_leave_nobody_for_training() -> None:
    assert [len(part.subjects) for part in make(12).split(valid=0.5)] == [4, 6, 2]


def test_python_warns_of_what_commands_announce() -> None:
    windows = make(n_subjects=5)
    with pytest.warns(DataWarning) as caught:
        windows.split(seed=0)
    notes = split_notes(windows, make_split(windows, valid=0.2, test=None, seed=0))
    assert [str(warning.message) for warning in caught] == list(notes)
    assert notes[0].startswith("Only 1 of 5 subjects is for testing: no gain can be")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(n_subjects=20).split(seed=0)


def test_few_test_subjects_by_choice() -> None:
    windows = make()
    (note,) = split_notes(windows, make_split(windows, valid=0.2, test=0.1, seed=0))
    assert note.endswith("fewer than 6; increase `test`.")


def test_a_class_that_a_part_lacks_is_said() -> None:
    windows = make(12)
    windows.y[:] = torch.from_numpy((windows.subject == "3").astype(int))
    split = make_split(windows, valid=0.2, test=None, seed=0)
    names = {"train": "training", "valid": "validation", "test": "test"}
    lacking = {name: getattr(split, part) for part, name in names.items()}
    lacking = {name: subjects for name, subjects in lacking.items() if "3" not in subjects}
    notes = [note.partition(";")[0] for note in split_notes(windows, split)]
    shown = [", ".join(map(repr, subjects[:5])) for subjects in lacking.values()]
    more = [f" and {len(s) - 5} more" if len(s) > 5 else "" for s in lacking.values()]
    assert notes == [
        f"No {name} subject ({names}{rest}) has windows of 'b'"
        for name, names, rest in zip(lacking, shown, more, strict=True)
    ]
    assert len(notes) == 2


def test_stratified_split_of_windows_without_subjects() -> None:
    windows = make()
    rest, part = stratified_split(windows, 0.2, seed=0)
    np.testing.assert_allclose(part.class_counts(), 0.2 * windows.class_counts(), atol=0.5)
    numbers = [set(half.x[:, 0, 0].tolist()) for half in (rest, part, windows)]
    assert numbers[0] | numbers[1] == numbers[2]
    assert not numbers[0] & numbers[1]
    # A class of two windows is in both parts, that of a single one is for training.
    few = windows[np.concatenate([np.flatnonzero(windows.y == 0)[:2], [int(windows.y.argmax())]])]
    rest, part = stratified_split(few, 0.2, seed=0)
    assert (rest.class_counts()[[0, 2]].tolist(), part.class_counts().tolist()) == (
        [1, 1],
        [1, 0, 0],
    )


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
    words = r"1(, got 2)?; the only subject is 'epochs'\. .*`subject`"
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
