"""Training a model on windows and scoring it; a policy is only something to call."""

from __future__ import annotations

from cadda.training.intervals import score_subjects
from cadda.training.metrics import Scores, SubjectScores, score
from cadda.training.problem import Problem, Samples
from cadda.training.progress import EpochEnd, Fitted, LeakReading, TrainingEnd, TrainingEvent
from cadda.training.settings import TrainingSettings
from cadda.training.step import predict_logits
from cadda.training.trainer import Trainer, train

__all__ = [
    "EpochEnd",
    "Fitted",
    "LeakReading",
    "Problem",
    "Samples",
    "Scores",
    "SubjectScores",
    "Trainer",
    "TrainingEnd",
    "TrainingEvent",
    "TrainingSettings",
    "predict_logits",
    "score",
    "score_subjects",
    "train",
]
