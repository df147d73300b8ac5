"""Displays of the progress of training, search and screening."""

from __future__ import annotations

from cadda.tracking.displays import ScreeningDisplay, TrainingDisplay, tee
from cadda.tracking.search import SearchDisplay

__all__ = ["ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "tee"]
