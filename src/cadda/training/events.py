"""Events of training, plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["EpochEnd", "TrainingEnd", "TrainingEvent"]


@dataclass(frozen=True)
class EpochEnd:
    """An epoch has ended.

    Parameters
    ----------
    epoch : int
        Number of the epoch, from 1.
    max_epochs : int
        Maximum number of epochs.
    train_loss : float
        Mean loss of the training batches, as augmented.
    valid_loss : float
        Loss on the validation windows.
    valid_balanced_accuracy : float
        Balanced accuracy on the validation windows.
    is_best : bool
        Whether this is the best epoch so far.
    """

    epoch: int
    max_epochs: int
    train_loss: float
    valid_loss: float
    valid_balanced_accuracy: float
    is_best: bool


@dataclass(frozen=True)
class TrainingEnd:
    """Training has ended.

    Parameters
    ----------
    epoch : int
        Number of epochs trained.
    best_epoch : int
        Epoch whose weights were kept.
    stopped_early : bool
        Whether training stopped before `max_epochs`.
    """

    epoch: int
    best_epoch: int
    stopped_early: bool


TrainingEvent: TypeAlias = EpochEnd | TrainingEnd
