"""How to train."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cadda._internal.validation import (
    Betas,
    Count,
    NonNegative,
    Positive,
    Seed,
    validated_dataclass,
)
from cadda.training.acceleration import Precision
from cadda.training.optimizers import OptimizerSource, default_weight_decay

__all__ = ["TrainingSettings"]


@validated_dataclass
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
        Learning rate.
    betas : tuple of float
        Decay rates of Adam and its variants. The paper's (0.0, 0.999) is a setting from the
        training of GANs.
    weight_decay : float | None
        Weight decay; None for the default of the optimizer, 0.01 for adamw and 0 for others.
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
    optimizer : str | callable
        ``"adam"``, ``"adamw"``, ``"nadam"``, ``"radam"``, ``"sgd"`` (with a momentum of 0.9), or a
        function that gets the parameters and returns a torch optimizer; then learning rate,
        `betas` and weight decay are those of the function.
    precision : 'float32' | 'bfloat16'
        Precision of the forward pass: ``"bfloat16"`` mixes both, as `torch.autocast` does.
        Weights, losses and predictions have 32 bits in any case.
    compile : bool
        Whether `torch.compile` compiles the model for training: steps may take less time, but the
        first ones take up to a minute.
    """

    max_epochs: Count = 300
    patience: Count = 30
    batch_size: Count = 16
    lr: Positive = 1e-3
    betas: Betas = (0.9, 0.999)
    weight_decay: NonNegative | None = None
    class_weights: bool = False
    copies: Annotated[int, Field(ge=0)] | None = None
    monitor: Literal["loss", "balanced_accuracy"] = "loss"
    seed: Seed = 0
    optimizer: OptimizerSource = "adam"
    precision: Precision = "float32"
    compile: bool = False

    def __post_init__(self) -> None:
        if self.weight_decay is None:
            object.__setattr__(self, "weight_decay", default_weight_decay(self.optimizer))
