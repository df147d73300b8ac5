"""The progress of a training run: its epochs, when it stops, and the model that it returns."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import TypeAdapter
from torch import Tensor, nn

from cadda._internal.frames import make_frame
from cadda._internal.notebook import block, paragraph
from cadda._internal.text import plural
from cadda.models.serialization import ModelDescription, save_model, with_description
from cadda.training.checkpoint import State
from cadda.training.settings import TrainingSettings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "EarlyStopping",
    "EpochEnd",
    "Fitted",
    "LeakReading",
    "TrainingEnd",
    "TrainingEvent",
    "describe_accuracy",
]

MAX_CHANGE = 0.1
"""Change of a probability above which a model reads an operation."""


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
    missing_classes : tuple of str
        Classes that training has and validation lacks, so that its scores are not over them.
    """

    epoch: int
    max_epochs: int
    train_loss: float
    valid_loss: float
    valid_balanced_accuracy: float
    is_best: bool
    missing_classes: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class LeakReading:
    """Whether a model takes an operation for a class, tried on windows of the other classes.

    Parameters
    ----------
    operation : str
        Name of the operation.
    class_name : str
        Class that the policy applies it to more often than to others.
    applied : float
        Share of the augmented windows of the class that it changed.
    others : float
        The same for the other classes, on average.
    change : float
        By how much the operation raises the probability that the model gives to the class, mean
        over validation windows of the other classes.
    n_windows : int
        Number of these windows.
    """

    operation: str
    class_name: str
    applied: float
    others: float
    change: float
    n_windows: int

    @property
    def is_read(self) -> bool:
        """Whether the model recognises the class by the operation."""
        return self.change > MAX_CHANGE

    def __str__(self) -> str:
        return (
            f"{self.operation} changed {self.applied:.0%} of the augmented windows of "
            f"{self.class_name} and {self.others:.0%} of others: on windows of other classes it "
            f"changes the probability of {self.class_name} by {self.change:+.2f}"
            + (", so the model reads the operation in place of the class" if self.is_read else "")
        )


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A trained model and its history.

    Parameters
    ----------
    model : nn.Module
        The model with the weights that were best on validation, in evaluation mode.
    history : list of EpochEnd
        Losses and validation accuracy of each epoch.
    best_epoch : int
        Epoch of the weights, from 1.
    stopped_early : bool
        Whether patience ran out before the last epoch.
    description : ModelDescription
        Channels, sampling rate, classes and filters that the model is for.
    leaks : tuple of LeakReading
        What the model makes of operations that the policy applies to a class more often than to
        others, the largest change first.
    warnings : tuple of str
        What suggests that the model has learned nothing: it predicts one class only, or its
        validation loss is not, or hardly, below chance; and classes that validation lacks.
    subjects : tuple of str
        Subjects whose windows it was trained and validated with, as far as they are known.
    """

    model: nn.Module
    history: list[EpochEnd]
    best_epoch: int
    stopped_early: bool
    description: ModelDescription
    leaks: tuple[LeakReading, ...] = ()
    warnings: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        with_description(self.model, self.description)

    @property
    def best(self) -> EpochEnd:
        """The epoch of the weights."""
        return self.history[self.best_epoch - 1]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as safetensors, with its description inside.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        save_model(self.model, self.description, path)

    def to_frame(self) -> Any:
        """Return the history as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per epoch, with the columns of `cadda.EpochEnd`.
        """
        names = [field.name for field in fields(EpochEnd)]
        return make_frame(map(asdict, self.history), names)

    def plot(self) -> Figure:
        """Draw the losses and the balanced accuracy of each epoch.

        Returns
        -------
        matplotlib.figure.Figure
            The picture, with a mark at the epoch of the weights.
        """
        from cadda.drawing.curves import plot_training

        return plot_training(
            [event.train_loss for event in self.history],
            [event.valid_loss for event in self.history],
            [event.valid_balanced_accuracy for event in self.history],
            best_epoch=self.best_epoch,
        )

    @property
    def _summary(self) -> tuple[str, str]:
        stopped = ", stopped early" if self.stopped_early else ""
        n_epochs = len(self.history)
        return (
            f"{type(self.model).__name__}, trained for {plural(n_epochs, 'epoch')}{stopped}",
            f"weights of epoch {self.best_epoch}: validation loss {self.best.valid_loss:.3f}, "
            + describe_accuracy(self.best.valid_balanced_accuracy, self.best.missing_classes),
        )

    def __repr__(self) -> str:
        return f"Fitted: {'; '.join((*self._summary, *self.warnings))}"

    def _repr_html_(self) -> str:
        headline, weights = self._summary
        return block(
            headline,
            paragraph(weights),
            *(paragraph(f"{text}.") for text in self.warnings),
            *(paragraph(f"{leak}.") for leak in self.leaks if leak.is_read),
        )


class EarlyStopping:
    """History of a training run, the weights of its best epoch, and the patience that is left."""

    def __init__(
        self,
        settings: TrainingSettings,
        weights: Mapping[str, Tensor],
        missing_classes: tuple[str, ...] = (),
    ) -> None:
        self.settings, self.missing_classes = settings, missing_classes
        self.history: list[EpochEnd] = []
        self.best_epoch, self.best_value = 0, math.inf
        self.best_weights = _copy(weights)

    @property
    def should_continue(self) -> bool:
        """Whether there is an epoch left, and patience for it."""
        n_epochs = len(self.history)
        has_patience = n_epochs - self.best_epoch < self.settings.patience
        return n_epochs < self.settings.max_epochs and has_patience

    def update(
        self,
        train_loss: float,
        valid_loss: float,
        valid_balanced_accuracy: float,
        weights: Mapping[str, Tensor],
    ) -> EpochEnd:
        """Record an epoch, and copy the weights if they are the best so far."""
        epoch = len(self.history) + 1
        value = valid_loss if self.settings.monitor == "loss" else -valid_balanced_accuracy
        is_best = value < self.best_value
        if is_best:
            self.best_epoch, self.best_value, self.best_weights = epoch, value, _copy(weights)
        event = EpochEnd(
            epoch,
            self.settings.max_epochs,
            train_loss,
            valid_loss,
            valid_balanced_accuracy,
            is_best,
            self.missing_classes,
        )
        self.history.append(event)
        return event

    def finish(self, model: nn.Module, description: ModelDescription) -> Fitted:
        """Return the model with the best weights."""
        model.load_state_dict(self.best_weights)
        stopped_early = len(self.history) < self.settings.max_epochs
        return Fitted(model.eval(), self.history, self.best_epoch, stopped_early, description)

    def state_dict(self) -> State:
        """Return what `load_state_dict` restores."""
        return {
            "history": [asdict(event) for event in self.history],
            "best_epoch": self.best_epoch,
            "best_value": self.best_value,
            "best_weights": self.best_weights,
        }

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        self.history = TypeAdapter(list[EpochEnd]).validate_python(state["history"])
        self.best_epoch, self.best_value = int(state["best_epoch"]), float(state["best_value"])
        shapes = {name: value.shape for name, value in state["best_weights"].items()}
        if shapes != {name: value.shape for name, value in self.best_weights.items()}:
            raise ValueError("the best weights are those of another model")
        self.best_weights = state["best_weights"]


def describe_accuracy(value: float, missing_classes: Sequence[str]) -> str:
    """Return a balanced accuracy of validation, with the classes that it is not over."""
    without = f" (without {', '.join(missing_classes)})" if missing_classes else ""
    return f"balanced accuracy {value:.3f}{without}"


def _copy(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
