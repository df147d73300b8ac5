"""Fitting a model to windows and scoring it; a policy is only something to call."""

from __future__ import annotations

from cadda.training.events import EpochEnd, TrainingEnd, TrainingEvent
from cadda.training.metrics import Scores, score
from cadda.training.predict import predict_logits
from cadda.training.settings import TrainingSettings
from cadda.training.trainer import Trainer, TrainingResult, train

__all__ = [
    "EpochEnd",
    "Scores",
    "Trainer",
    "TrainingEnd",
    "TrainingEvent",
    "TrainingResult",
    "TrainingSettings",
    "predict_logits",
    "score",
    "train",
]
