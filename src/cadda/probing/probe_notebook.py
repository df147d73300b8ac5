"""What a notebook shows of a probe."""

from __future__ import annotations

from collections.abc import Sequence

from cadda._internal.notebook import block, paragraph, table
from cadda.reporting.probe_records import MARKS, ProbeRow

__all__ = ["probe_html"]


def probe_html(class_names: Sequence[str], summary: str, rows: Sequence[ProbeRow]) -> str:
    """Return a table with a row for each operation, and a mark for each magnitude in its cells."""
    marks: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        cells = marks.setdefault(row.operation, {name: [] for name in class_names})
        becomes = f" {row.other}" if row.verdict == "becomes" else ""
        cells[row.class_name].append(MARKS[row.verdict] + becomes)
    return block(
        "What operations do to classes",
        paragraph(summary),
        table(
            ("operation", *class_names),
            [(name, *map(" ".join, cells.values())) for name, cells in marks.items()],
            "✓ kept, → becomes another, ✗ destroyed, ? undecided; from the smallest magnitude to "
            "the largest",
        ),
    )
