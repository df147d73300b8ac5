"""Sinks of events: what a training or a search reports goes to a screen or a file."""

from __future__ import annotations

from cadda.tracking.jsonl import JsonlSink, both
from cadda.tracking.screening import ScreeningDisplay
from cadda.tracking.search import SearchDisplay
from cadda.tracking.training import TrainingDisplay

__all__ = ["JsonlSink", "ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "both"]
