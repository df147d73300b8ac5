"""Fitting a model to windows and scoring it; a policy is only something to call."""

from __future__ import annotations

from cadda.training.events import EpochEnd, TrainingEnd, TrainingEvent
from cadda.training.loop import TrainingResult, TrainingSettings, train
from cadda.training.metrics import Scores, score
from cadda.training.predict import predict_logits

__all__ = [
    "EpochEnd",
    "Scores",
    "TrainingEnd",
    "TrainingEvent",
    "TrainingResult",
    "TrainingSettings",
    "predict_logits",
    "score",
    "train",
]
