"""Recordings of BIDS data sets, read by mne-bids."""

from __future__ import annotations

import csv
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cadda._internal.limits import (
    MAX_TEXT,
    LimitError,
    check_regular,
    open_regular,
    read_text,
)
from cadda._internal.optional import import_optional
from cadda._internal.text import path_order
from cadda.data.io.brainvision import check_markers

__all__ = [
    "bids_recordings",
    "bids_root",
    "bids_sidecars",
    "lost_events",
    "missing_description",
    "open_bids",
    "warn_of_unused_tables",
]

_logger = logging.getLogger(__name__)

_DESCRIPTION = "dataset_description.json"

MAX_COLUMNS = 500

_UNKNOWN = ("", "n/a", "nan", "NaN")
"""Times that are not known, as mne-bids reads them."""


def bids_root(path: Path) -> Path | None:
    """Return the folder of the BIDS data set that a path is in, or None."""
    path = path.absolute()
    if (path / _DESCRIPTION).is_file():
        return path
    if not path.name.startswith("sub-"):
        return None
    return next((folder for folder in path.parents if (folder / _DESCRIPTION).is_file()), None)


def missing_description(path: Path, *, table: str = "events") -> Path | None:
    """Return the description that a recording with a table needs to be read as BIDS."""
    path = path.absolute()
    file = path.with_name(f"{path.name.rpartition('_')[0]}_{table}.tsv")
    if not path.name.startswith("sub-") or bids_root(path) or not file.is_file():
        return None
    folders = [folder for folder in path.parents if folder.name.startswith("sub-")]
    return (folders[-1] if folders else path).parent / _DESCRIPTION


def warn_of_unused_tables(paths: Sequence[Path]) -> None:
    """Warn of tables beside recordings that are not read, as the folder is not BIDS."""
    tables = ("events", "channels")
    missing = {
        table: next(filter(None, (missing_description(path, table=table) for path in paths)), None)
        for table in tables
    }
    unused = [f"{table}.tsv" for table, description in missing.items() if description]
    if unused:
        _logger.warning(
            "Files %s beside the recordings are not used, as this is no BIDS data set without %s; "
            "add it to read them.",
            " and ".join(unused),
            next(filter(None, missing.values())),
        )


def bids_recordings(root: Path) -> list[Path]:
    """Return the EEG files of all subjects, without derivatives."""
    return sorted(root.glob("sub-*/**/eeg/*_eeg.*"), key=path_order)


def open_bids(path: Path) -> Any:
    """Open a recording with the annotations of ``events.tsv`` and bads of ``channels.tsv``."""
    _check_tables(path)
    if not _sidecars(path, "events"):
        check_markers(path)
    return _mne_bids().read_raw_bids(_bids_path(path), verbose="error")


def _check_tables(path: Path) -> None:
    """Raise `OSError` if a file that mne-bids reads beside a recording is too large."""
    root = bids_root(path)
    for folder in path.absolute().parents:
        for file in folder.iterdir():
            if file.suffix not in (".tsv", ".json"):
                continue
            check_regular(file, MAX_TEXT)
            if file.suffix == ".tsv":
                with open_regular(file) as table:
                    n_columns = table.readline().count(b"\t") + 1
                # Its reader takes memory that grows with the square of the columns.
                if n_columns > MAX_COLUMNS:
                    raise LimitError(
                        file,
                        f"{file.name} has {n_columns} columns, and at most {MAX_COLUMNS} are read",
                    )
        if folder == root:
            return


def bids_sidecars(path: Path) -> tuple[Path, ...]:
    """Return the files that name the channels of a recording."""
    return _sidecars(path, "channels")


def lost_events(path: Path, end: float) -> tuple[int, int] | None:
    """Return how many events have no onset, and how many begin after `end` or end before 0.

    MNE drops both, as it does events whose type is n/a, which name no class. None if a recording
    has no table of events.
    """
    tables = _sidecars(path, "events")
    if not tables:
        return None
    lines = read_text(tables[0], encoding="utf-8-sig").splitlines(keepends=True)
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    named = [row for row in rows if row.get("trial_type") != "n/a"] or rows
    onsets = [(row.get("onset") or "").strip() for row in named]
    durations = [(row.get("duration") or "").strip() for row in named]
    known = [onset not in _UNKNOWN for onset in onsets]
    n_outside = sum(
        float(onset) > end or float(onset) + (0 if length in _UNKNOWN else float(length)) < 0
        for onset, length, is_known in zip(onsets, durations, known, strict=True)
        if is_known
    )
    return known.count(False), n_outside


def _sidecars(path: Path, kind: str) -> tuple[Path, ...]:
    """Return the table of a kind that belongs to a recording, if there is one."""
    found = _bids_path(path).find_matching_sidecar(kind, ".tsv", on_error="ignore")
    return () if found is None else (Path(found),)


def _bids_path(path: Path) -> Any:
    bids_path = _mne_bids().get_bids_path_from_fname(path, verbose="error")
    return bids_path.update(root=bids_root(path))


def _mne_bids() -> Any:
    return import_optional("mne_bids", "Reading a BIDS data set", "bids")
