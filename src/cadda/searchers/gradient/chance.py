"""Whether the model of a search knows more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

import numpy as np

from cadda.searchers.events import SearchEpoch
from cadda.training.diagnosis import chance_loss
from cadda.training.problem import Problem

__all__ = ["CHANCE_EPOCHS", "ChanceLevel"]

CHANCE_EPOCHS = 5
"""A search stops if its model was worse than chance in the mean over this many epochs."""

LOSS_MARGIN = 1.1
"""A loss is worse than chance if it is larger by this factor: an untrained model is at 1."""


@dataclass(frozen=True)
class ChanceLevel:
    """What a model reaches on validation windows that only knows how frequent classes are.

    A validation loss above that of chance alone is no reason to stop: an overfitted model is too
    sure of itself, and may still tell classes apart, which is enough to compare operations. If it
    does not, its validation gradient means nothing.
    """

    loss: float
    accuracy: float  # balanced
    error: float  # standard error of the balanced accuracy of a model that guesses

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Compute the level for a problem that has windows of each class in both parts."""
        n_classes = problem.n_classes
        train, valid = (
            np.bincount(part.y, minlength=n_classes) for part in (problem.train, problem.valid)
        )
        guess = 1 / n_classes
        variance = (guess * (1 - guess) / valid).sum() / n_classes**2
        return cls(chance_loss(train, valid), guess, math.sqrt(variance))

    def why_worse(self, epochs: Sequence[SearchEpoch]) -> str | None:
        """Return why a model that was worse than chance in these epochs is of no use.

        None if it was not, or if there are fewer epochs than `CHANCE_EPOCHS`.
        """
        if len(epochs) < CHANCE_EPOCHS:
            return None
        loss = fmean(epoch.valid_loss for epoch in epochs)
        accuracy = fmean(epoch.valid_balanced_accuracy for epoch in epochs)
        if loss <= LOSS_MARGIN * self.loss or accuracy > self.accuracy + self.error:
            return None
        return (
            f"its model is worse than chance on the validation windows, with a loss of {loss:.2f} "
            f"(chance: {self.loss:.2f}; limit: {LOSS_MARGIN * self.loss:.2f}) and a balanced "
            f"accuracy of {accuracy:.2f} (chance: {self.accuracy:.2f} ± {self.error:.2f}) in the "
            f"mean over {CHANCE_EPOCHS} epochs, so its rewards mean nothing; use more training "
            "subjects, another `model`, or `method`='auto', which needs no such model."
        )

    def warnings(self, loss: float, accuracy: float) -> tuple[str, ...]:
        """Warn of a model that tells classes apart, but with a loss above that of chance."""
        if loss <= LOSS_MARGIN * self.loss or accuracy <= self.accuracy + self.error:
            return ()
        share = math.floor(100 * loss / self.loss)
        return (
            f"the validation loss of the model of the search is {share} % of that of chance: it "
            "tells classes apart, but is too sure of itself, so rewards are less reliable; use "
            "more training subjects, or a smaller `model_lr`",
        )
