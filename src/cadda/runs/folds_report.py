"""From the folder of a cross-validation to its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cadda._internal.files import write_text_atomically
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.reporting.html.folds import render_folds
from cadda.reporting.records import RunRecord, Session
from cadda.runs.folder import HOW_TO_RESUME, RunFolder
from cadda.runs.report import READ_ERRORS, Report, read_record, write_report
from cadda.runs.sessions import load_sessions

__all__ = ["write_folds_report"]


def write_folds_report(folder: Path) -> Report:
    """Write the report of a finished cross-validation into its folder, and those of its folds.

    Parameters
    ----------
    folder : Path
        The folder that contains ``fold-1``, ``fold-2`` and so on.

    Returns
    -------
    Report
        Path of the page, and the result in one sentence.
    """
    run = RunFolder(folder)
    folds = _folds(run)
    records = [read_record(fold.folder) for fold in folds]
    _check_folds(folder, records)
    links = [write_report(fold.folder).path.relative_to(folder.resolve()) for fold in folds]
    page = render_folds(records, [link.as_posix() for link in links], _sessions(run))
    write_text_atomically(run.report.resolve(), page.html)
    return Report(run.report.resolve(), page.sentence)


def _folds(run: RunFolder) -> list[RunFolder]:
    """Return the folders of all folds; raise if one has no model yet."""
    n_folds = read_record(run.fold(1).folder).data.split.n_folds
    if n_folds is None:
        raise RunError(f"{run.fold(1).folder} is not a fold of a cross-validation.")
    folds = [run.fold(number) for number in range(1, n_folds + 1)]
    for number, fold in enumerate(folds, start=1):
        if not fold.config.exists():
            raise RunError(
                f"the cross-validation in {run.folder} is unfinished: fold {number} of {n_folds} "
                f"is missing; {HOW_TO_RESUME}."
            )
    return folds


def _check_folds(folder: Path, records: Sequence[RunRecord]) -> None:
    """Raise unless the folds have the same classes, and test each subject once."""
    classes = {record.data.class_names for record in records}
    if len(classes) > 1:
        raise RunError(f"the folds in {folder} have different classes: {sorted(classes)}.")
    tested = Counter(
        subject for record in records for subject in {*record.predictions.subject.tolist()}
    )
    subject, times = tested.most_common(1)[0]
    if times > 1:
        raise RunError(
            f"the folds in {folder} do not belong together: {subject} is a test subject of "
            f"{times} folds."
        )


def _sessions(run: RunFolder) -> tuple[Session, ...]:
    try:
        return load_sessions(run)
    except READ_ERRORS as error:
        raise RunError(
            f"cannot make a report of {run.folder}: {run.sessions.name} is damaged or of another "
            f"version of cadda ({short_reason(error)})."
        ) from error
