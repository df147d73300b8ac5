"""Displays of the progress of training, search, screening and probe."""

from __future__ import annotations

from cadda.tracking.displays import ProbeDisplay, ScreeningDisplay, TrainingDisplay, tee
from cadda.tracking.search import SearchDisplay

__all__ = ["ProbeDisplay", "ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "tee"]
