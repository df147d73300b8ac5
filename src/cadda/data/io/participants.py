"""Classes of recordings by a table of participants."""

from __future__ import annotations

import csv
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from cadda._internal.limits import read_text
from cadda._internal.text import did_you_mean, list_names, short_reason
from cadda.data.io.header import Header
from cadda.data.io.losses import warn_of_loss
from cadda.data.io.naming import Inspected, subject_of
from cadda.exceptions import DataError

__all__ = ["ParticipantColumn", "is_missing", "participant_values"]


_ID = "participant_id"


@dataclass(frozen=True)
class ParticipantColumn:
    """A column of a table of participants, whose values are the classes of recordings."""

    table: Path
    name: str
    subject: str | None  # regular expression that finds the participant of a recording
    subject_key: str  # names it in messages

    def values_of(self, headers: Sequence[Header]) -> list[str]:
        """Return the value of each recording; raise if its participant is not in the table."""
        values = participant_values(self.table, self.name)
        subjects = [subject_of(header, self.subject, self.subject_key) for header in headers]
        for subject in subjects:
            if subject not in values:
                raise DataError(f"{self.table} has no participant {subject!r}.")
        return [values[subject] for subject in subjects]

    def drop_missing(
        self, inspected: Sequence[Inspected], classes: Container[str] = ()
    ) -> list[Inspected]:
        """Return the recordings with a value, or whose missing value is itself among classes.

        Warn of the others; raise if no recording is left.
        """
        values = self.values_of([header for header, _ in inspected])
        has_value = [not is_missing(value) or value in classes for value in values]
        if not any(has_value):
            raise DataError(
                f"{self.table} has no value in column {self.name!r} for any of the "
                f"{len(inspected)} recordings (n/a or empty); fill it in, or set `class_from` to "
                "another column."
            )
        pairs = zip(inspected, has_value, strict=True)
        left_out = [header.path.name for (header, _), has in pairs if not has]
        if left_out:
            warn_of_loss(
                f"{self.table}: column {self.name!r} is n/a or empty for {len(left_out)} of "
                f"{len(inspected)} recordings, which are left out: {list_names(left_out)}."
            )
        return [*compress(inspected, has_value)]


def is_missing(value: str) -> bool:
    """Check for a value that is not known, which BIDS writes as ``n/a``."""
    return value.casefold() in ("", "n/a")


def participant_values(table: Path, column: str) -> dict[str, str]:
    """Return one column of a table by subject, with and without ``sub-``."""
    values: dict[str, str] = {}
    for row in _rows(table, column):
        # Cells that a short row lacks are None.
        subject = (row[_ID] or "").strip().removeprefix("sub-")
        value = (row[column] or "").strip()
        if values.setdefault(subject, value) != value and subject:
            raise DataError(
                f"{table} has several rows of participant {subject!r} with different values in "
                f"column {column!r}, {values[subject]!r} and {value!r}; keep one of them."
            )
    return values | {f"sub-{subject}": value for subject, value in values.items()}


def _rows(table: Path, column: str) -> list[dict[str, str | None]]:
    """Return the rows of a table; raise if it has no such column."""
    try:
        lines = read_text(table, encoding="utf-8-sig").splitlines(keepends=True)
        rows = list(csv.DictReader(lines, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read {table}: {short_reason(error)}.") from error
    # Values without a heading are under None.
    columns = [name for name in rows[0] if name is not None] if rows else []
    for name in (_ID, column):
        if name not in columns:
            hint = did_you_mean(name, columns)
            if len(columns) == 1 and any(mark in columns[0] for mark in ",;"):
                hint = ", as its columns must be separated by tabs; replace the commas"
            raise DataError(f"{table} has no column {name!r}{hint}.")
    return rows
