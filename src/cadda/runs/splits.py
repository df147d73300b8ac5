"""How the windows of a run are split by subject, also as those of an earlier run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from cadda._internal.text import short_reason
from cadda.data.splits import Split, make_split, split_notes, split_subjects, subject_folds
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.reporting.records import DataFacts, SplitSettings
from cadda.runs.folder import RunFolder, digest_of

__all__ = ["WindowSplit", "assign_subjects", "describe_split", "split_from"]

MAX_VALID = 0.5
"""Largest fraction of the subjects outside a fold that validate."""


@dataclass(frozen=True, eq=False)
class WindowSplit:
    """The windows of a run, split by subject."""

    train: Windows
    valid: Windows
    test: Windows
    settings: SplitSettings

    @classmethod
    def make(cls, windows: Windows, settings: SplitSettings) -> Self:
        """Split windows."""
        return cls(*_parts(windows, assign_subjects(windows, settings)), settings)

    @classmethod
    def folds(cls, windows: Windows, n_folds: int, *, valid: float, seed: int) -> Iterator[Self]:
        """Yield the folds of a cross-validation, each with validation subjects of its own."""
        n_subjects = len(windows.subjects)
        for fold, (rest, test) in enumerate(subject_folds(windows, n_folds, seed=seed), start=1):
            # A fraction of all subjects, as elsewhere, not of those that are left.
            share = min(valid * n_subjects / len(rest.subjects), MAX_VALID)
            train, held_out = split_subjects(rest, (share,), seed=seed)
            settings = SplitSettings(valid, None, seed, fold=fold, n_folds=n_folds)
            yield cls(train, held_out, test, settings)

    @property
    def subjects(self) -> Split:
        """The subjects of each part."""
        return Split(*(tuple(part.subjects) for part in (self.train, self.valid, self.test)))

    @cached_property
    def test_digest(self) -> str:
        """SHA-256 of the test windows; a `Problem` has those of the other parts."""
        return digest_of(self.test)


def split_from(windows: Windows, run: str | os.PathLike[str]) -> tuple[Windows, Windows, Windows]:
    """Split windows by subject as an earlier training run or search did.

    Parameters
    ----------
    windows : Windows
        Windows of the same subjects, such as of another preprocessing. Subjects that the run did
        not have are left out.
    run : path-like
        Folder of the run.

    Returns
    -------
    train, valid, test : Windows
        Windows of the training, validation and test subjects of the run.
    """
    return _parts(windows, _split_of_run(windows, Path(run)))


def _parts(windows: Windows, split: Split) -> tuple[Windows, Windows, Windows]:
    return (
        windows.of_subjects(split.train),
        windows.of_subjects(split.valid),
        windows.of_subjects(split.test),
    )


def assign_subjects(windows: Windows, settings: SplitSettings) -> Split:
    """Return the subjects of each part, by fractions and seed or as in an earlier run."""
    if settings.split_from is not None:
        return _split_of_run(windows, Path(settings.split_from))
    return make_split(windows, valid=settings.valid, test=settings.test, seed=settings.seed)


def describe_split(windows: Windows, settings: SplitSettings) -> tuple[str, ...]:
    """Return what is to be known of a split before a run, as sentences."""
    split = assign_subjects(windows, settings)
    used = {*split.train, *split.valid, *split.test}
    others = [subject for subject in windows.subjects if subject not in used]
    notes = split_notes(windows.of_subjects(sorted(used)), split)
    if not others:
        return notes
    shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
    return (f"Not in {settings.split_from}, so left out: {shown} ({len(others)} in all).", *notes)


def _split_of_run(windows: Windows, folder: Path) -> Split:
    """Return the groups of an earlier run, of those subjects that there are."""
    run = RunFolder(folder)
    split = run.read_config().split
    if not split.test and run.data.exists():
        try:
            parts = DataFacts.load(run.data).parts
            split = Split(*(parts[part].subjects for part in ("train", "valid", "test")))
        except (OSError, ValueError, KeyError) as error:
            raise RunError(
                f"{run.data} is damaged or of another version of cadda ({short_reason(error)}); "
                "choose another run."
            ) from error
    here = set(windows.subjects)
    groups = {
        part: tuple(subject for subject in getattr(split, part) if subject in here)
        for part in ("train", "valid", "test")
    }
    for part, subjects in groups.items():
        if not getattr(split, part):
            raise RunError(f"{folder} has no {part} subjects, so that its split cannot be used.")
        if not subjects:
            raise ValueError(
                f"`windows` must have {part} subjects of {folder}, such as "
                f"{getattr(split, part)[0]!r}, got only others, such as {windows.subjects[0]!r}."
            )
    return Split(**groups)
