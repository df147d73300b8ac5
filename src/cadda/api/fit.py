"""Windows in, trained model out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import nn

from cadda.api.prepare import (
    Device,
    augmentation_for,
    check_fits,
    check_pair,
    description_of,
    model_for,
    pick_device,
)
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.models.serialization import ModelDescription, save_model
from cadda.operations.pool import OperationPool
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.training import (
    EpochEnd,
    Scores,
    TrainingEvent,
    TrainingSettings,
    predict_logits,
    score,
)
from cadda.training import train as train_model
from cadda.training.augmenter import Augmentation

__all__ = ["Fitted", "evaluate", "fit"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model and how it came about.

    Parameters
    ----------
    model : nn.Module
        The model with the weights that were best on validation, in evaluation mode.
    history : list of EpochEnd
        Losses and validation accuracy of each epoch.
    best_epoch : int
        Epoch of the weights, from 1.
    description : ModelDescription
        What the model is for.
    """

    model: nn.Module
    history: list[EpochEnd]
    best_epoch: int
    description: ModelDescription

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as safetensors, with its description inside.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        save_model(self.model, self.description, path)


def fit(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource = "chambon2018",
    policy: PolicySpec | PolicySchedule | Augmentation | str | os.PathLike[str] | None = None,
    pool: OperationPool | None = None,
    max_epochs: int = 300,
    patience: int = 30,
    batch_size: int = 16,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: float = 0.0,
    class_weights: bool = False,
    copies: int | None = None,
    monitor: Literal["loss", "balanced_accuracy"] = "loss",
    seed: int = 0,
    device: Device = "auto",
    on_event: Callable[[TrainingEvent], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Fitted:
    """Train a model, augmented by a policy, and keep the weights that are best on validation.

    Parameters
    ----------
    train : Windows
        What to learn from.
    valid : Windows
        What to stop by: other subjects.
    model : str | nn.Module | callable
        ``"chambon2018"``, ``"shallow"``, ``"lenet1"``, ``"braindecode:NAME"``, a module (a copy of
        it is trained), or a function ``make_model(n_channels, n_times, n_classes)``.
    policy : PolicySpec | PolicySchedule | Policy | path-like | callable | None
        Augmentation: a spec, a schedule of them, a file with either, or anything that maps (x, y)
        to augmented (x, y).
    pool : OperationPool | None
        The operations of a policy that has some of your own; None takes cadda's for ``train``.
    max_epochs : int
        Most epochs.
    patience : int
        Epochs without a better validation before training stops.
    batch_size : int
        Windows per step.
    lr : float
        Learning rate of Adam.
    betas : tuple of float
        Decay rates of Adam; the paper has (0.0, 0.999).
    weight_decay : float
        Weight decay of Adam.
    class_weights : bool
        Whether rare classes count more in the loss.
    copies : int | None
        0 replaces each window by an augmented one; k keeps it and adds k augmented copies. None
        adds one if classes have policies of their own, and replaces otherwise: an operation that
        only one class gets tells the class, unless windows as they are can be learned from too.
    monitor : 'loss' | 'balanced_accuracy'
        What validation looks at.
    seed : int
        Decides initial weights, order, augmentation and dropout: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to train; auto takes a GPU if there is one.
    on_event : callable | None
        Called with an event after every epoch and at the end.
    checkpoint : path-like | None
        File to save to after every epoch, and to go on from if it is there.

    Returns
    -------
    Fitted
        The trained model and its history.
    """
    check_pair(train, valid)
    settings = TrainingSettings(
        max_epochs=max_epochs,
        patience=patience,
        batch_size=batch_size,
        lr=lr,
        betas=betas,
        weight_decay=weight_decay,
        class_weights=class_weights,
        copies=copies,
        monitor=monitor,
        seed=seed,
    )
    made = model_for(model, train, seed=seed).to(pick_device(device))
    result = train_model(
        made,
        (train.x, train.y),
        (valid.x, valid.y),
        train.class_names,
        settings,
        policy=augmentation_for(policy, train, pool),
        on_event=on_event,
        checkpoint=None if checkpoint is None else Path(checkpoint),
    )
    return Fitted(result.model, result.history, result.best_epoch, description_of(model, train))


def evaluate(model: nn.Module | Fitted, windows: Windows) -> Scores:
    """Score a model on windows that it has not seen.

    Parameters
    ----------
    model : nn.Module | Fitted
        A trained model, or the result of `fit`.
    windows : Windows
        Test windows.

    Returns
    -------
    Scores
        Balanced accuracy, macro F1, F1 per class, Cohen's kappa, accuracy and confusion matrix.
    """
    if isinstance(model, Fitted):
        check_fits(model.description, windows)
        return evaluate(model.model, windows)
    logits = predict_logits(model, windows.x, windows.n_classes)
    return score(windows.y, logits.argmax(1), windows.class_names)
