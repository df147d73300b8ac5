"""The report of a run: one HTML page, made from what the run has left behind."""

from __future__ import annotations

from cadda.reporting.report.page import render_report
from cadda.reporting.report.record import RunRecord

__all__ = ["RunRecord", "render_report"]
