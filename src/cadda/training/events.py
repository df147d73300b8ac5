"""What a training reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["EpochEnd", "TrainingEnd", "TrainingEvent"]


@dataclass(frozen=True)
class EpochEnd:
    """One epoch is done.

    Parameters
    ----------
    epoch : int
        Number of the epoch, from 1.
    max_epochs : int
        Most epochs that there can be.
    train_loss : float
        Mean loss of the training batches, as augmented.
    valid_loss : float
        Loss on the validation windows.
    valid_balanced_accuracy : float
        Balanced accuracy on the validation windows.
    is_best : bool
        Whether validation was better than ever before.
    """

    epoch: int
    max_epochs: int
    train_loss: float
    valid_loss: float
    valid_balanced_accuracy: float
    is_best: bool


@dataclass(frozen=True)
class TrainingEnd:
    """The training is over.

    Parameters
    ----------
    epoch : int
        Number of epochs that were done.
    best_epoch : int
        Epoch whose weights were kept.
    stopped_early : bool
        Whether patience ran out before the epochs did.
    """

    epoch: int
    best_epoch: int
    stopped_early: bool


TrainingEvent: TypeAlias = EpochEnd | TrainingEnd
