"""The reports of runs and studies: an HTML page each, made from records."""

from __future__ import annotations

from cadda.reporting.html.report import Page, render_report
from cadda.reporting.html.study import StudyPage, TextTable, render_study

__all__ = ["Page", "StudyPage", "TextTable", "render_report", "render_study"]
