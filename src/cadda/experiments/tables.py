"""Numbers in rows and columns, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Cell", "Table", "cell_in_words"]

Cell: TypeAlias = str | int | float | None
"""What stands in a table; None where there is nothing."""


@dataclass(frozen=True)
class Table:
    """Rows of plain values.

    Parameters
    ----------
    title : str
        What the numbers are.
    columns : tuple of str
        Names of the columns, with their units.
    rows : tuple of tuple
        Rows, each with a cell per column.
    note : str
        What else must be said of them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give the table as plain data.

        Returns
        -------
        dict
            Title, note, and a dict per row.
        """
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "note": self.note, "rows": rows}


def cell_in_words(cell: Cell) -> str:
    """Write a cell for people.

    Parameters
    ----------
    cell : str | int | float | None
        The value.

    Returns
    -------
    str
        Numbers with three digits that count; nothing for None.
    """
    if cell is None:
        return ""
    return f"{float(f'{cell:.3g}'):g}" if isinstance(cell, float) else str(cell)
