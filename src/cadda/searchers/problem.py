"""What a search works on: only tensors, names and a way to make models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cadda.operations.pool import OperationPool

__all__ = ["SearchTask"]


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Windows to train on, windows to judge by, operations to choose from.

    Parameters
    ----------
    x_train : Tensor
        Training windows.
    y_train : Tensor
        Their labels.
    x_valid : Tensor
        Validation windows, of other subjects.
    y_valid : Tensor
        Their labels.
    class_names : tuple of str
        Names of the classes, in the order of the labels.
    pool : OperationPool
        Operations to choose from.
    make_model : callable
        Makes an untrained model from a seed.
    make_critic : callable
        Makes an untrained critic from a seed, for methods that compare distributions.
    device : torch.device
        Where to compute.
    subject : tuple of str
        Subject of each training window, for methods that split them; empty if nobody knows.
    """

    x_train: Tensor
    y_train: Tensor
    x_valid: Tensor
    y_valid: Tensor
    class_names: tuple[str, ...]
    pool: OperationPool
    make_model: Callable[[int], nn.Module]
    make_critic: Callable[[int], nn.Module]
    device: torch.device
    subject: tuple[str, ...] = ()

    def training_batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Take some training windows.

        Parameters
        ----------
        index : Tensor
            Which ones.

        Returns
        -------
        x, y : Tensor
            Windows and labels, on the device.
        """
        return self.x_train[index].to(self.device), self.y_train[index].to(self.device)

    def validation_batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Take some validation windows.

        Parameters
        ----------
        index : Tensor
            Which ones.

        Returns
        -------
        x, y : Tensor
            Windows and labels, on the device.
        """
        return self.x_valid[index].to(self.device), self.y_valid[index].to(self.device)
