"""Scores of the model of a run on subjects that it has not seen."""

from __future__ import annotations

from pathlib import Path

from cadda.api.fit import evaluate
from cadda.api.prepare import check_fits
from cadda.data.windows import Windows
from cadda.exceptions import LeakError
from cadda.models.serialization import load_model
from cadda.runs.folder import RunFolder
from cadda.training import Scores

__all__ = ["evaluate_run"]


def evaluate_run(
    folder: Path,
    windows: Windows,
    *,
    skip_seen: bool = False,
    different_subjects: bool = False,
) -> tuple[Scores, int]:
    """Return the scores of the model of a run, and the number of subjects.

    Subjects with the names of those of training or validation raise an error; `skip_seen` leaves
    them out, `different_subjects` declares them to be other people, as in another data set.
    """
    run = RunFolder(folder)
    split = run.read_config().split
    model, description = load_model(run.model)
    check_fits(description, windows)
    used = set() if different_subjects else {*split.train, *split.valid}
    seen = used & set(windows.subjects)
    if seen and not skip_seen:
        raise LeakError(
            f"{len(seen)} subjects have the names of subjects that were used to train this model, "
            f"such as {min(seen)!r}; skip them with `skip_seen=True`, or pass "
            "`different_subjects=True` if they are other people of another data set."
        )
    unseen = [subject for subject in windows.subjects if subject not in seen]
    if not unseen:
        raise LeakError("no unseen subjects to test on: all were used to train this model.")
    return evaluate(model, windows.of_subjects(unseen)), len(unseen)
