"""Sinks of events: what a training or a search reports goes to a screen or a file."""

from __future__ import annotations

from cadda.tracking.console import TrainingDisplay
from cadda.tracking.jsonl import JsonlSink, both
from cadda.tracking.screening_display import ScreeningDisplay
from cadda.tracking.search_display import SearchDisplay

__all__ = ["JsonlSink", "ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "both"]
