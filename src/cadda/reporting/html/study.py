"""The page of a study: its tables, its figure and its settings."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from cadda.reporting.html.page import render_page

__all__ = ["StudyPage", "TextTable", "render_study"]


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: str = ""  # what the columns mean


@dataclass(frozen=True)
class StudyPage:
    """Everything that the page of a study shows."""

    study: str
    data: str  # what it was computed from, in a line
    conclusion: str  # may be empty
    tables: tuple[TextTable, ...]  # the results first
    figure: bytes  # PNG
    settings: str  # TOML
    reading: str = ""  # the call that read the data, if it is known
    warnings: tuple[str, ...] = ()  # of models that may have learned nothing
    failures: tuple[str, ...] = ()  # jobs that failed, and why


def render_study(page: StudyPage) -> str:
    """Render the page of a study as HTML without external files; the same page, the same bytes."""
    figure = base64.b64encode(page.figure).decode()
    return render_page("study.html", {"title": page.study, "page": page, "figure": figure})
