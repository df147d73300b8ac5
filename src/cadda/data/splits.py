"""Splits by subject, without leaks, and subsets of windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cadda._internal.random import Seeds
from cadda.exceptions import LeakError

if TYPE_CHECKING:
    from cadda.data.windows import Windows

__all__ = [
    "balanced_subset",
    "check_no_leak",
    "log2_subsets",
    "split_subjects",
    "stratified_subset",
    "subject_folds",
]

N_TRIES = 300
"""Random assignments of subjects, of which that with the most even classes is used."""


def split_subjects(windows: Windows, fractions: Sequence[float], *, seed: int) -> list[Windows]:
    """Split by subject into a rest and parts with given fractions of the subjects."""
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
    return [
        windows.of_subjects(group)
        for group in _assign_subjects(windows, [rest, *sizes], Seeds(seed), "split")
    ]


def subject_folds(
    windows: Windows, n_folds: int, *, seed: int
) -> Iterator[tuple[Windows, Windows]]:
    """Yield training and test windows of each fold; each subject is tested once."""
    n_subjects = len(windows.subjects)
    if not 2 <= n_folds <= n_subjects:
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
        f"; the only subject is {windows.subjects[0]!r}: epochs without subjects count as one, so "
        "name the column of their metadata in `subject`"
    )


def _assign_subjects(
    windows: Windows, sizes: Sequence[int], seeds: Seeds, stream: str
) -> list[list[str]]:
    """Assign subjects to groups of given sizes so that classes are spread evenly."""
    subjects = np.array(windows.subjects)
    is_of_subject = subjects[:, None] == windows.subject
    is_of_class = windows.y.numpy()[:, None] == np.arange(windows.n_classes)
    counts = is_of_subject.astype(float) @ is_of_class.astype(float)
    rng = np.random.default_rng(seeds.integer(stream))
    cuts = np.cumsum(sizes)[:-1]
    orders = [rng.permutation(len(subjects)) for _ in range(N_TRIES)]
    best = min(orders, key=lambda order: _unevenness(counts, np.split(order, cuts)))
    return [subjects[np.sort(group)].tolist() for group in np.split(best, cuts)]


def _unevenness(counts: NDArray[np.float64], groups: Sequence[NDArray[np.int64]]) -> float:
    """Return the distance of the class shares of groups from those of all windows."""
    overall = counts.sum(0) / counts.sum()
    shares = [counts[group].sum(0) / counts[group].sum() for group in groups]
    missing = sum(int(((share == 0) & (overall > 0)).sum()) for share in shares)
    return missing + sum(float(np.abs(share - overall).sum()) for share in shares)
