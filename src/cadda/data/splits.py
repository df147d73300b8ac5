"""Splits by subject, without leaks, and subsets of windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from cadda._internal.random import Seeds
from cadda._internal.statistics import MIN_SUBJECTS
from cadda._internal.text import list_names, quote
from cadda._internal.validation import check_whole
from cadda.exceptions import LeakError

if TYPE_CHECKING:
    from cadda.data.windows import Windows

__all__ = [
    "Split",
    "balanced_subset",
    "check_no_leak",
    "log2_subsets",
    "make_split",
    "split_notes",
    "split_subjects",
    "stratified_split",
    "stratified_subset",
    "subject_folds",
]

TEST_SHARE = 0.2
"""Fraction of the subjects for testing, where nothing else is asked for."""

PART_NAMES = {"train": "training", "valid": "validation", "test": "test"}


@dataclass(frozen=True)
class Split:
    """The subjects of each part."""

    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...] = ()


def make_split(windows: Windows, *, valid: float, test: float | None, seed: int) -> Split:
    """Assign subjects to parts; see `Windows.split`."""
    _check_fraction("valid", valid)
    if test is not None:
        _check_fraction("test", test)
    else:
        test = _default_test(len(windows.subjects), valid)
    groups = _make_groups(windows, (valid, test), Seeds(seed))
    return Split(*(tuple(group) for group in groups))


def split_notes(windows: Windows, split: Split) -> tuple[str, ...]:
    """Return what is to be known of a split before a run, as sentences."""
    return (*_few_subjects(windows, split), *_missing_classes(windows, split))


def _few_subjects(windows: Windows, split: Split) -> Iterator[str]:
    n_test, n_subjects = len(split.test), len(windows.subjects)
    if n_test >= MIN_SUBJECTS:
        return
    way_out = (
        f"use at least {2 * MIN_SUBJECTS} subjects, or `cadda compare`, which tests all of them"
        if n_subjects < 2 * MIN_SUBJECTS
        else "increase `test`"
    )
    yield (
        f"Only {n_test} of {n_subjects} subjects {'is' if n_test == 1 else 'are'} for testing: no "
        f"gain can be distinguished from chance with fewer than {MIN_SUBJECTS}; {way_out}."
    )


def _missing_classes(windows: Windows, split: Split) -> Iterator[str]:
    for part, subjects in asdict(split).items():
        present = windows.y.numpy()[np.isin(windows.subject, subjects)]
        missing = set(np.unique(windows.y.numpy())).difference(present)
        for label in sorted(missing):
            yield (
                f"No {PART_NAMES[part]} subject ({list_names(subjects, 5)}) has windows of "
                f"{windows.class_names[label]!r}; choose another `seed`, leave out subjects that "
                "lack a class, or leave the class out with `classes`."
            )


def split_subjects(windows: Windows, fractions: Sequence[float], *, seed: int) -> list[Windows]:
    """Split by subject into a rest and parts with given fractions of the subjects."""
    groups = _make_groups(windows, fractions, Seeds(seed))
    return [windows.of_subjects(group) for group in groups]


def _check_fraction(name: str, value: float) -> None:
    if not isinstance(value, Real) or not 0 < value < 1:
        raise ValueError(
            f"`{name}` must be a fraction of the subjects, above 0 and below 1, got "
            f"{quote(value)}; choose subjects yourself with `Windows.of_subjects`."
        )


def _default_test(n_subjects: int, valid: float) -> float:
    """Return a fraction of a fifth, or for enough subjects to see a gain if that is at most half.

    With fewer, all that can be used are needed more for training.
    """
    left = n_subjects - max(1, round(valid * n_subjects)) - MIN_SUBJECTS
    is_enough = n_subjects >= 2 * MIN_SUBJECTS and left > 0
    return max(TEST_SHARE, MIN_SUBJECTS / n_subjects) if is_enough else TEST_SHARE


def _make_groups(windows: Windows, fractions: Sequence[float], seeds: Seeds) -> list[list[str]]:
    """Assign subjects to a rest and to groups with given fractions of the subjects."""
    if any(not 0 < fraction < 1 for fraction in fractions) or sum(fractions) >= 1:
        raise ValueError(
            "`valid` and `test` must be fractions above 0 that leave something for training, "
            f"got {', '.join(f'{fraction:g}' for fraction in fractions)}."
        )
    n_subjects = len(windows.subjects)
    sizes = [max(1, round(fraction * n_subjects)) for fraction in fractions]
    rest = n_subjects - sum(sizes)
    if rest < 1:
        raise ValueError(
            f"`windows` must have at least {len(fractions) + 1} subjects to split them, "
            f"got {n_subjects}{_hint_about_subjects(windows)}."
        )
    # From the end, so that the subjects of the last part do not depend on the sizes of others.
    return _assign_subjects(windows, [*reversed(sizes), rest], seeds, "split")[::-1]


def subject_folds(
    windows: Windows, n_folds: int, *, seed: int
) -> Iterator[tuple[Windows, Windows]]:
    """Yield training and test windows of each fold; each subject is tested once."""
    n_subjects = len(windows.subjects)
    if not 2 <= check_whole("n_folds", n_folds, 2) <= n_subjects:
        raise ValueError(
            f"`n_folds` must be from 2 to the number of subjects, {n_subjects}, got {n_folds}"
            f"{_hint_about_subjects(windows)}."
        )
    sizes = [len(part) for part in np.array_split(np.arange(n_subjects), n_folds)]
    groups = _assign_subjects(windows, sizes, Seeds(seed), "folds")
    for tested in groups:
        others = [subject for group in groups if group is not tested for subject in group]
        yield windows.of_subjects(others), windows.of_subjects(tested)


def stratified_subset(windows: Windows, fraction: float, *, seed: int) -> Windows:
    """Return a random fraction of the windows of each class, at least one of each.

    Parameters
    ----------
    windows : Windows
        Windows to select from.
    fraction : float
        Fraction in (0, 1]. With the same seed, the subset of a smaller fraction is part of
        that of a larger fraction.
    seed : int
        Same seed, same subset.

    Returns
    -------
    Windows
        The subset, in the order of the windows.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"`fraction` must be in (0, 1], got {fraction}.")
    rng = np.random.default_rng(Seeds(seed).integer("subset"))
    order = rng.permutation(len(windows))
    labels = windows.y.numpy()[order]
    kept = np.concatenate(
        [
            members[: max(1, round(fraction * len(members)))]
            for members in (order[labels == label] for label in np.unique(labels))
        ]
    )
    return windows[np.sort(kept)]


def stratified_split(windows: Windows, fraction: float, *, seed: int) -> tuple[Windows, Windows]:
    """Split windows that have no subjects into a rest and a fraction of each class.

    Classes of several windows are in both parts.
    """
    rng = np.random.default_rng(Seeds(seed).integer("stratified split"))
    order = rng.permutation(len(windows))
    labels = windows.y.numpy()[order]
    members = [order[labels == label] for label in np.unique(labels)]
    sizes = [min(max(1, round(fraction * len(group))), len(group) - 1) for group in members]
    chosen = np.concatenate([group[:n] for group, n in zip(members, sizes, strict=True)])
    return windows[np.setdiff1d(order, chosen)], windows[np.sort(chosen)]


def balanced_subset(windows: Windows, *, seed: int) -> Windows:
    """Return as many random windows of each class as the rarest class has."""
    fewest = int(windows.class_counts().min())
    if not fewest:
        empty = windows.class_names[int(windows.class_counts().argmin())]
        raise ValueError(f"`windows` must have windows of every class, got none of {empty!r}.")
    rng = np.random.default_rng(Seeds(seed).integer("balanced subset"))
    order = rng.permutation(len(windows))
    labels = windows.y.numpy()[order]
    members = (order[labels == label] for label in range(windows.n_classes))
    return windows[np.sort(np.concatenate([group[:fewest] for group in members]))]


def log2_subsets(windows: Windows, n_subsets: int, *, seed: int) -> list[tuple[float, Windows]]:
    """Return nested subsets whose sizes double, as in the learning curves of the paper.

    Parameters
    ----------
    windows : Windows
        Windows to select from.
    n_subsets : int
        Number of subsets; the largest has all windows.
    seed : int
        Same seed, same subsets.

    Returns
    -------
    list of (float, Windows)
        Fractions 2^−(n−1) … 1, each with its subset.
    """
    if n_subsets < 1:
        raise ValueError(f"`n_subsets` must be at least 1, got {n_subsets}.")
    fractions = [2.0**-k for k in reversed(range(n_subsets))]
    return [(f, stratified_subset(windows, f, seed=seed)) for f in fractions]


def check_no_leak(**parts: Windows) -> None:
    """Raise `LeakError` if two parts of a split share a subject."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        for subject in part.subjects:
            if subject in seen:
                raise LeakError(
                    f"subject {subject!r} is in both `{seen[subject]}` and `{name}`; split by "
                    "subject, for example with windows.split()."
                )
            seen[subject] = name


def _hint_about_subjects(windows: Windows) -> str:
    """Return the likely reason if all windows are of one subject."""
    if len(windows.subjects) > 1:
        return ""
    return (
        f"; the only subject is {windows.subjects[0]!r}. If there are others, read their files as "
        "well, or set `subject` to what tells them apart: for recordings a regular expression of "
        "file names, for epochs a column of epochs.metadata"
    )


def _assign_subjects(
    windows: Windows, sizes: Sequence[int], seeds: Seeds, stream: str
) -> list[list[str]]:
    """Assign subjects to groups of given sizes, by the seed and their names only.

    Each subject has a random number of its own, so that the groups neither depend on the windows
    nor on their order, and one subject less moves few others.
    """
    order = sorted(windows.subjects, key=lambda name: seeds.integer(f"{stream} {name}"))
    return [group.tolist() for group in np.split(np.array(order), np.cumsum(sizes)[:-1])]
