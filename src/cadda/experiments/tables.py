"""Tables of results, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

__all__ = ["Cell", "ResultTable", "format_cell"]

Cell: TypeAlias = str | int | float | None
"""A value of a table; None leaves a cell empty."""


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain values under named columns, with units in the names."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def to_dict(self) -> dict[str, JsonValue]:
        """Return title, note, and a dict per row."""
        rows: list[JsonValue] = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "note": self.note, "rows": rows}


def format_cell(cell: Cell) -> str:
    """Format a cell for display, numbers with three significant digits."""
    if cell is None:
        return ""
    return f"{float(f'{cell:.3g}'):g}" if isinstance(cell, float) else str(cell)
