"""The report of a run: one HTML page, made from what the run has left behind."""

from __future__ import annotations

from cadda.reporting.html.record import RunRecord
from cadda.reporting.html.report import render_report

__all__ = ["RunRecord", "render_report"]
