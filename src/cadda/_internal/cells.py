"""Cells of tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Cell", "format_cell", "format_rows"]

Cell: TypeAlias = str | int | float | None
"""A value of a table; None leaves a cell empty."""

DECIMALS = 3
"""Decimals of a column of scores or gains."""

SMALL, LARGE = 0.01, 10
"""Below the first, numbers are small. A column with one above the second is left as it is."""


def format_cell(cell: Cell) -> str:
    """Format a cell for display, numbers with three significant digits."""
    if cell is None:
        return ""
    return f"{float(f'{cell:.3g}'):g}" if isinstance(cell, float) else str(cell)


def format_rows(rows: Sequence[Sequence[Cell]]) -> list[tuple[str, ...]]:
    """Format the cells of a table, with the same decimals in all numbers of a column."""
    columns = [_format_column(column) for column in zip(*rows, strict=True)]
    return list(zip(*columns, strict=True))


def _format_column(cells: Sequence[Cell]) -> list[str]:
    texts = [format_cell(cell) for cell in cells]
    numbers = [cell for cell in cells if cell is not None]
    is_text = any(isinstance(number, str) for number in numbers)
    if is_text or not any(isinstance(number, float) for number in numbers):
        return texts
    sizes = [abs(float(number)) for number in numbers if number]
    # Of small numbers, such as 5e-05, the exponent says more than decimals.
    if max(sizes, default=0.0) >= LARGE or any("e" in text for text in texts):
        return texts
    decimals = _n_decimals(texts, sizes)
    # Adding 0 makes -0 positive.
    return [
        "" if cell is None else f"{round(float(cell), decimals) + 0.0:.{decimals}f}"
        for cell in cells
    ]


def _n_decimals(texts: Sequence[str], sizes: Sequence[float]) -> int:
    """Return the decimals of a column: three for scores, more for small numbers."""
    needed = max(len(text.partition(".")[2]) for text in texts)
    if max(sizes, default=0.0) < SMALL:
        return max(needed, DECIMALS)
    if min(sizes) < SMALL:
        return min(max(needed, DECIMALS), DECIMALS + 1)
    # Three significant digits of the largest are enough where it is above 1.
    return min(max(needed, 2 if max(sizes) > 1 else DECIMALS), DECIMALS)
