"""Cells of tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Cell", "format_cell", "format_rows"]

Cell: TypeAlias = str | int | float | None
"""A value of a table; None leaves a cell empty."""

MAX_DECIMALS = 4
"""Decimals of a column; more if all of its numbers are small."""

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
    # Of small numbers, such as 5e-05, the exponent says more than decimals.
    needed = max(len(text.partition(".")[2]) for text in texts)
    largest = max(abs(float(text)) for text in texts if text)
    if largest >= LARGE or any("e" in text for text in texts):
        return texts
    decimals = needed if largest < SMALL else min(needed, MAX_DECIMALS)
    # Three significant digits of the largest, so that 0.5 is 0.500 among scores.
    decimals = max(decimals, 3 if largest <= 1 else 2)
    return [f"{float(text):.{decimals}f}" if text else "" for text in texts]
