"""A trained model."""

from __future__ import annotations

import os
from dataclasses import dataclass

from torch import nn

from cadda.models.serialization import ModelDescription, save_model
from cadda.training.events import EpochEnd

__all__ = ["Fitted"]


@dataclass(frozen=True, eq=False)
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
        Channels, sampling rate and classes that the model is for.
    """

    model: nn.Module
    history: list[EpochEnd]
    best_epoch: int
    stopped_early: bool
    description: ModelDescription

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
