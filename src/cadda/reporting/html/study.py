"""The page of a study: its tables, its figure and its settings."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from cadda._version import __version__
from cadda.reporting.html.page import (
    page_environment,
    page_script,
    page_style,
    without_marks,
)

__all__ = ["StudyPage", "TextTable", "render_study"]


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


def render_study(page: StudyPage) -> str:
    """Render the page of a study as HTML without external files; the same page, the same bytes."""
    script, digest = page_script()
    template = page_environment().get_template("study.html")
    html = template.render(
        page=page,
        figure=base64.b64encode(page.figure).decode(),
        version=__version__,
        style=page_style(),
        script=script,
        script_digest=digest,
    )
    return without_marks(html)
