"""How to screen, and what a screening reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from cadda._internal.validation import Count, NonNegative, Positive, validated_dataclass

__all__ = ["MIN_SUBJECTS", "ScreeningProgress", "ScreeningSettings"]

MIN_SUBJECTS = 8
"""With fewer subjects, windows count as independent instead."""


@validated_dataclass
class ScreeningSettings:
    """How to screen.

    Parameters
    ----------
    magnitudes : tuple of float
        Magnitudes to try, in (0, 1].
    n_rounds : int
        How often rewards are computed.
    windows_per_round : int
        Training windows in a round, about as many of each class.
    draws : int
        Operations that are tried on each of them.
    n_epochs : int
        Epochs that the rounds are spread over.
    min_accuracy : float
        Accuracy on the training windows, dropout included, that ends the warm-up.
    max_warmup : int
        Largest number of warm-up epochs.
    batch_size : int
        Training windows per step.
    n_parts : int
        Number of parts that the validation windows are split into.
    valid_batch_size : int
        Largest number of validation windows per round, drawn anew each time.
    lr : float
        Learning rate of Adam.
    unroll_lr : float
        Step size ξ of the unrolled training step.
    smoothing : float
        Epochs that the running mean of the weights goes back; 0 takes the weights as they are.
    seed : int
        Decides everything that is random.
    """

    magnitudes: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)] = (
        0.25,
        0.5,
        0.75,
        1.0,
    )
    n_rounds: Count = 80
    windows_per_round: Count = 60
    draws: Count = 6
    n_epochs: Count = 30
    min_accuracy: NonNegative = 0.85
    max_warmup: Annotated[int, Field(ge=0)] = 60
    batch_size: Count = 16
    n_parts: Count = 20
    valid_batch_size: Count = 256
    lr: Positive = 1e-3
    unroll_lr: Positive = 1e-3
    smoothing: NonNegative = 4.0
    seed: int = 0


@dataclass(frozen=True)
class ScreeningProgress:
    """Progress of a screening.

    Parameters
    ----------
    done : int
        Work done, in passes of one window through the model.
    total : int
        All work, of which the warm-up may need less.
    n_rounds : int
        Rounds done; 0 during the warm-up.
    epoch : int
        Epochs trained so far.
    accuracy : float
        Accuracy on the training windows in the last epoch.
    """

    done: int
    total: int
    n_rounds: int
    epoch: int
    accuracy: float
