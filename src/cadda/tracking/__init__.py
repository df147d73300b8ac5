"""Sinks of events: what a training or a search reports is shown on the screen."""

from __future__ import annotations

from cadda.tracking.display import tee
from cadda.tracking.screening import ScreeningDisplay
from cadda.tracking.search import SearchDisplay
from cadda.tracking.training import TrainingDisplay

__all__ = ["ScreeningDisplay", "SearchDisplay", "TrainingDisplay", "tee"]
