"""How to train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cadda._internal.validation import check_positive

__all__ = ["TrainingSettings"]


@dataclass(frozen=True)
class TrainingSettings:
    """How to train.

    Parameters
    ----------
    max_epochs : int
        Most epochs.
    patience : int
        Epochs without a better validation before training stops.
    batch_size : int
        Windows per step.
    lr : float
        Learning rate of Adam.
    betas : tuple of float
        Decay rates of Adam. The paper's (0.0, 0.999) is a setting from the training of GANs.
    weight_decay : float
        Weight decay of Adam.
    class_weights : bool
        Whether rare classes count more in the loss, by the inverse of their frequency.
    copies : int | None
        0 replaces each window by an augmented one; k keeps it and adds k augmented copies. None
        adds one if classes have policies of their own, and replaces otherwise: an operation that
        only one class gets tells the class, unless windows as they are can be learned from too.
    monitor : 'loss' | 'balanced_accuracy'
        What validation looks at.
    seed : int
        Decides order, augmentation and dropout.
    """

    max_epochs: int = 300
    patience: int = 30
    batch_size: int = 16
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    class_weights: bool = False
    copies: int | None = None
    monitor: Literal["loss", "balanced_accuracy"] = "loss"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_epochs", "patience", "batch_size", "lr"):
            check_positive(name, getattr(self, name))
        if self.copies is not None and self.copies < 0:
            raise ValueError(f"`copies` must be 0 or more, got {self.copies}.")
        if self.monitor not in ("loss", "balanced_accuracy"):
            raise ValueError(
                f"`monitor` must be 'loss' or 'balanced_accuracy', got {self.monitor!r}."
            )
