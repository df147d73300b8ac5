"""Displays of the progress of training, search and screening."""

from __future__ import annotations

from cadda.tracking.display import tee
from cadda.tracking.screening import ScreeningDisplay
from cadda.tracking.search import SearchDisplay
from cadda.tracking.training import TrainingDisplay

__all__ = ["ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "tee"]
