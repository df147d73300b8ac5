"""Events of epoched EEGLAB files."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from cadda.exceptions import DataError

__all__ = ["name_by_time_zero"]


def name_by_time_zero(epochs: Any, path: Path) -> None:
    """Name epochs by their events at time 0; MNE joins the names of all events with ``/``."""
    if not any("/" in name for name in epochs.event_id):
        return
    rows = _epoch_rows(path)
    if len(rows) != len(epochs) or not any(len(_items(row["eventtype"])) > 1 for row in rows):
        return
    half_sample = 500.0 / float(epochs.info["sfreq"])
    names = [_name(row, half_sample, number, path) for number, row in enumerate(rows, 1)]
    ids = {name: code for code, name in enumerate(dict.fromkeys(names), 1)}
    epochs.events[:, 2] = [ids[name] for name in names]
    epochs.event_id = ids


def _name(row: dict[str, Any], half_sample: float, number: int, path: Path) -> str:
    """Return the event of one epoch; of several, the one at time 0."""
    types = [str(item) for item in _items(row["eventtype"])]
    if len(types) == 1:
        return types[0]
    times = [float(time) for time in _items(row.get("eventlatency", ()))]  # in milliseconds
    nearest = min(map(abs, times), default=np.inf)
    if nearest > half_sample or len(times) != len(types):
        raise DataError(
            f"epoch {number} of {path.name} has the events {', '.join(map(repr, types))}, none of "
            "them at time 0, so its class is not known; epoch the recording around the events of "
            "the classes (pop_epoch), or pass the continuous recording."
        )
    # Two events may be at the same time; they are named as by MNE.
    return "/".join(
        name for name, time in zip(types, times, strict=True) if np.isclose(abs(time), nearest)
    )


def _epoch_rows(path: Path) -> list[dict[str, Any]]:
    """Read EEG.epoch, a row for each epoch."""
    wanted = ["EEG", "epoch"]
    try:
        from scipy.io import loadmat

        content = loadmat(path, simplify_cells=True, variable_names=wanted)
    except NotImplementedError:
        # MNE needs the same package for files of MATLAB 7.3.
        content = import_module("pymatreader").read_mat(path, variable_names=wanted)
    table = content.get("EEG", content).get("epoch", ())
    if isinstance(table, dict):
        table = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return list(table)


def _items(value: Any) -> list[Any]:
    """Return the elements of a cell array, or a single value as a list."""
    is_many = isinstance(value, Iterable) and not isinstance(value, str)
    return list(np.ravel(np.array(value, dtype=object))) if is_many else [value]
