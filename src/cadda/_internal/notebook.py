"""Small HTML for notebooks.

Text and borders have the colours of the page, so that they are readable on light and on dark
ones. Everything that is passed as a plain string is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NewType

__all__ = ["Cell", "Html", "block", "folded", "paragraph", "table", "verbatim"]

Html = NewType("Html", str)
"""What must not be escaped again."""

MAX_ROWS, MAX_COLUMNS, MAX_LINES = 20, 16, 60
"""What is shown of a long table or text."""

SHADE, MAX_ALPHA = (11, 99, 176), 0.45
"""The blue of full cells; at this opacity both black and white text are readable on it."""
STYLE = (
    "<style>.cadda p,.cadda table,.cadda pre{margin:.3em 0}"
    ".cadda table{border-collapse:collapse;font-size:.9em}"
    ".cadda td,.cadda th{padding:.15em .6em;text-align:right;"
    "border-bottom:1px solid rgba(128,128,128,.35)}"
    ".cadda tr>:first-child{text-align:left}</style>"
)


@dataclass(frozen=True)
class Cell:
    """A cell of a table; from 0 to 1, its shade shows how much of something there is."""

    text: str
    shade: float = 0.0


def block(title: str, *parts: Html) -> Html:
    """Return what a notebook shows of an object."""
    return Html(f'{STYLE}<div class="cadda"><b>{escape(title)}</b>{"".join(parts)}</div>')


def paragraph(text: str) -> Html:
    """Return a line of text."""
    return Html(f"<p>{escape(text)}</p>")


def verbatim(text: str) -> Html:
    """Return text as it is written; of a long one, the first lines."""
    lines = text.rstrip().splitlines()
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES} more lines"]
    return Html(f"<pre>{escape(chr(10).join(lines))}</pre>")


def folded(summary: str, content: Html) -> Html:
    """Return what is hidden until a reader asks for it."""
    return Html(f"<details><summary>{escape(summary)}</summary>{content}</details>")


def table(header: Sequence[str], rows: Iterable[Sequence[Cell | str]], note: str = "") -> Html:
    """Return a table whose first column has names; what is too long is cut off, and counted."""
    every = list(rows)
    lines = [_line("th", header, f"and {len(header) - MAX_COLUMNS} more")]
    lines += [_line("td", row, "…") for row in every[:MAX_ROWS]]
    if len(every) > MAX_ROWS:
        lines.append(_line("td", [f"and {len(every) - MAX_ROWS} more"], ""))
    return Html(f"<table>{''.join(lines)}</table>{paragraph(note) if note else ''}")


def _line(tag: str, row: Sequence[Cell | str], rest: str) -> str:
    shown = [*row[:MAX_COLUMNS], rest] if len(row) > MAX_COLUMNS else row
    return f"<tr>{''.join(_cell(tag, cell) for cell in shown)}</tr>"


def _cell(tag: str, cell: Cell | str) -> str:
    if isinstance(cell, str):
        cell = Cell(cell)
    colour = ",".join(map(str, (*SHADE, round(MAX_ALPHA * min(cell.shade, 1), 2))))
    style = f' style="background:rgba({colour})"' if cell.shade > 0 else ""
    return f"<{tag}{style}>{escape(cell.text)}</{tag}>"
