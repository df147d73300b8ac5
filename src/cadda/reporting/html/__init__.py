"""The report of a run: one HTML page, made from its records."""

from __future__ import annotations

from cadda.reporting.html.report import Page, render_report

__all__ = ["Page", "render_report"]
