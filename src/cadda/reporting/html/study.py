"""The page of a study: its tables, its figure and its settings."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cadda.reporting.html.page import render_page

__all__ = ["StudyPage", "TextTable", "render_study"]

_NUMBER = re.compile(r"-?\d+(\.\d+)?")

MAX_DECIMALS, MIN_ROUNDED = 4, 0.01
"""Decimals of a column, unless all of its numbers are small."""

MAX_PADDED = 10
"""Size of a number from which its column is left as it is."""


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class StudyPage:
    """Everything that the page of a study shows."""

    study: str
    data: str  # what it was computed from, in a line
    conclusion: str  # may be empty
    progress: str  # what is missing; empty if nothing is
    tables: tuple[TextTable, ...]  # the results first
    figure: bytes  # PNG
    settings: str  # TOML
    reading: str = ""  # the call that read the data, if it is known
    warnings: tuple[str, ...] = ()  # of models that may have learned nothing


def render_study(page: StudyPage) -> str:
    """Render the page of a study as HTML without external files; the same page, the same bytes."""
    figure = base64.b64encode(page.figure).decode()
    aligned = replace(page, tables=tuple(map(_aligned, page.tables)))
    return render_page("study.html", {"title": page.study, "page": aligned, "figure": figure})


def _aligned(table: TextTable) -> TextTable:
    """Return a table with as many decimals in all numbers of a column, where they fit."""
    columns = [_with_equal_decimals(column) for column in zip(*table.rows, strict=True)]
    return replace(table, rows=list(zip(*columns, strict=True)))


def _with_equal_decimals(cells: Sequence[str]) -> Sequence[str]:
    """Append zeros to numbers, or round them; large numbers and other texts stay as they are."""
    numbers = [cell for cell in cells if cell]
    if not all(_NUMBER.fullmatch(cell) for cell in numbers):
        return cells
    decimals = max((len(cell.partition(".")[2]) for cell in numbers), default=0)
    largest = max((abs(float(cell)) for cell in numbers), default=0.0)
    if largest >= MIN_ROUNDED:
        decimals = min(decimals, MAX_DECIMALS)
    if not decimals or largest >= MAX_PADDED:
        return cells
    return [f"{float(cell):.{decimals}f}" if cell else "" for cell in cells]
