"""A compact filter-bank network for motor imagery and other short windows."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Shallow"]

N_FILTERS = 24
KERNEL = 25
POOL = 75
STRIDE = 15


class Shallow(nn.Module):
    """Learned band powers: filters over time, mixes of channels, squares, averages, logarithms.

    Parameters
    ----------
    n_channels : int
        Number of channels.
    n_times : int
        Samples per window, at least 40; sizes suit about 100 Hz.
    n_classes : int
        Number of classes.
    dropout : float
        Probability of dropping a feature before the dense layer.

    References
    ----------
    Schirrmeister et al. (2017), Deep learning with convolutional neural networks for EEG decoding
    and visualization.
    """

    def __init__(
        self, n_channels: int, n_times: int, n_classes: int, *, dropout: float = 0.5
    ) -> None:
        super().__init__()
        length = n_times - KERNEL + 1
        if length < STRIDE:
            raise ValueError(f"`n_times` must be at least {KERNEL + STRIDE}, got {n_times}.")
        self.pool = min(POOL, length)
        self.temporal = nn.Conv2d(1, N_FILTERS, (1, KERNEL), bias=False)
        self.spatial = nn.Conv2d(N_FILTERS, N_FILTERS, (n_channels, 1), bias=False)
        self.norm = nn.BatchNorm1d(N_FILTERS)
        self.dropout = nn.Dropout(dropout)
        n_pooled = (length - self.pool) // STRIDE + 1
        self.dense = nn.Linear(N_FILTERS * n_pooled, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Classify windows.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times).

        Returns
        -------
        Tensor
            Logits of shape (n_windows, n_classes).
        """
        filtered = functional.conv1d(x, self._kernels())
        power = functional.avg_pool1d(self.norm(filtered).square(), self.pool, STRIDE)
        features = torch.log(power.clamp_min(1e-6)).flatten(1)
        logits: Tensor = self.dense(self.dropout(features))
        return logits

    def _kernels(self) -> Tensor:
        """Return both filters as one, (n_filters, n_channels, kernel).

        Nothing stands between them, and to convolve once takes half the time.
        """
        return torch.einsum(
            "ofc,ft->oct", self.spatial.weight.squeeze(-1), self.temporal.weight.flatten(1)
        )
