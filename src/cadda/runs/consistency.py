"""Whether the files of a run fit each other, and hold numbers that a report can show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cadda._internal.limits import MAX_CHANNELS, MAX_CLASSES, MAX_SFREQ, MIN_SFREQ
from cadda._internal.text import quote
from cadda.reporting.records import DataFacts, Examples, Predictions, RunRecord
from cadda.runs.folder import RunFolder

__all__ = ["find_problems"]

PARTS = {"train", "valid", "test"}


def find_problems(run: RunFolder, record: RunRecord) -> Iterator[tuple[Path, str]]:
    """Yield files of a run that cannot be what cadda wrote, and why."""
    data = record.data
    yield from ((run.data, problem) for problem in _data_problems(data))
    problems = _prediction_problems(record.predictions, data)
    yield from ((run.predictions, problem) for problem in problems)
    if record.examples is not None:
        yield from ((run.examples, problem) for problem in _example_problems(record.examples))
    yield from ((run.events, problem) for problem in _curve_problems(record))
    if any(not 0 <= session.seconds < np.inf for session in record.sessions):
        yield run.sessions, "a session has a duration that is not a finite number"


def _data_problems(data: DataFacts) -> Iterator[str]:
    names = data.class_names
    if not 2 <= len(names) <= MAX_CLASSES or len(set(names)) < len(names):
        yield f"it must name different classes, 2 to {MAX_CLASSES}, got {quote(names)}"
    if not 1 <= len(data.ch_names) <= MAX_CHANNELS:
        yield f"it must name 1 to {MAX_CHANNELS} channels, got {len(data.ch_names)}"
    if data.n_times < 1 or not (data.sfreq is None or MIN_SFREQ <= data.sfreq <= MAX_SFREQ):
        yield f"it has windows of {data.n_times} samples at {data.sfreq} Hz"
    if set(data.parts) != PARTS:
        yield f"it must have the parts train, valid and test, got {quote(sorted(data.parts))}"
    for part, facts in data.parts.items():
        if len(facts.windows) != len(names) or min(facts.windows, default=0) < 0:
            yield f"its part {part} must have a number of windows for each class"
        if not facts.subjects:
            yield f"its part {part} has no subjects"


def _prediction_problems(predictions: Predictions, data: DataFacts) -> Iterator[str]:
    arrays = {name: value for name, value in vars(predictions).items() if value is not None}
    shapes = {np.shape(value) for value in arrays.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1 or not predictions.truth.size:
        yield "its arrays must have one entry for each window"
        return
    labels = ("truth", "predicted", "without_augmentation")
    for name, values in arrays.items():
        wanted = "U" if name in ("subject", "recording") else "iu"
        if values.dtype.kind not in wanted:
            yield f"its array {name!r} is of the wrong type, {values.dtype}"
        elif name in labels and not _are_labels(values, len(data.class_names)):
            yield f"its array {name!r} must hold labels of {len(data.class_names)} classes"


def _are_labels(values: NDArray[np.int64], n_classes: int) -> bool:
    return bool(((values >= 0) & (values < n_classes)).all())


def _example_problems(examples: Examples) -> Iterator[str]:
    before, after = examples.before, examples.after
    n_operations = len(np.atleast_1d(examples.operation))
    per_operation = ("operation", "class_name", "applied", "magnitude", "window")
    optional = ("class_before", "class_after", "min_magnitude")
    arrays = [(name, getattr(examples, name)) for name in (*per_operation, *optional)]
    for name, values in arrays:
        if values is not None and values.shape != (n_operations,):
            yield f"its array {name!r} must have an entry for each operation"
            return
    shapes = before.ndim == after.ndim == 3 and before.shape[1:] == after.shape[1:]
    fit = shapes and len(after) == n_operations and len(before) > 0
    if not fit or examples.ch_names.shape != before.shape[1:2] or not before.size:
        yield "its windows before and after the operations must have the same channels and times"
        return
    if before.dtype.kind != "f" or after.dtype.kind != "f" or examples.window.dtype.kind != "i":
        yield "its arrays are of the wrong type"
    elif not _are_labels(examples.window, len(before)):
        yield "its array 'window' must hold places of windows"
    elif not (np.isfinite(before).all() and np.isfinite(after).all()):
        yield "it has NaN or infinite values"


def _curve_problems(record: RunRecord) -> Iterator[str]:
    """Yield what is wrong with losses, and with tables of policies."""
    for curve in record.learning:
        n_epochs = len(curve.valid_loss)
        if not 1 <= curve.best_epoch <= n_epochs or len(curve.train_loss) != n_epochs:
            yield "its epochs must be numbered from 1"
    curves = None if record.search is None else record.search.curves
    if curves is None or record.search is None:
        return
    n_operations = len(record.search.operations)
    tables = (curves.applied, curves.share, curves.probability, curves.magnitude)
    n_rows = len(record.data.class_names) if record.search.classwise else 1
    shape = (len(curves.shown), n_rows, n_operations)
    if not len(curves.shown) or any(table.shape != shape for table in tables):
        yield f"its tables must have {n_rows} rows and {n_operations} columns, as in config.json"
    if not all(np.isfinite(values).all() for values in (curves.number, *tables[:2])):
        yield "its numbers must be finite"
