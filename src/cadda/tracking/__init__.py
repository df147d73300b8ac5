"""Displays of the progress of training, search and probe."""

from __future__ import annotations

from cadda.tracking.displays import ProbeDisplay, TrainingDisplay, tee
from cadda.tracking.search import SearchDisplay

__all__ = ["ProbeDisplay", "SearchDisplay", "TrainingDisplay", "tee"]
