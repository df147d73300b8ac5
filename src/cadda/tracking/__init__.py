"""Displays of the progress of training, search and probe, and experiment trackers."""

from __future__ import annotations

from cadda._internal.delayed import shown_progress
from cadda.tracking.displays import ProbeDisplay, TrainingDisplay, tee
from cadda.tracking.search import SearchDisplay
from cadda.tracking.trackers import LogTo, open_trackers

__all__ = [
    "LogTo",
    "ProbeDisplay",
    "SearchDisplay",
    "TrainingDisplay",
    "open_trackers",
    "shown_progress",
    "tee",
]
