"""cadda's own networks: for sleep staging, for short windows, and for images."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from cadda.models._fft_convolution import convolve
from cadda.models._fused_convolution import PooledConvolution

__all__ = ["Chambon2018", "LeNet1", "Shallow"]


class _Network(nn.Module, ABC):
    """A network that classifies windows."""

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Classify windows.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times); images are windows whose channels
            are the rows.

        Returns
        -------
        Tensor
            Logits of shape (n_windows, n_classes).
        """


def _check_length(n_times: int, shortest: int, name: str) -> None:
    if n_times < shortest:
        raise ValueError(
            f"`n_times` must be at least {shortest} samples for {name}, got {n_times}."
        )


class Chambon2018(_Network):
    """Convolutional network for sleep staging, with the sizes of the paper's table.

    A linear mix of the channels, then twice a convolution over time (8 filters of 64 samples),
    ReLU and max-pooling by 16, then dropout and a dense layer.

    Parameters
    ----------
    n_channels : int
        Number of channels C.
    n_times : int
        Samples per window T, at least 256.
    n_classes : int
        Number of classes.
    dropout : float
        Probability of dropping a feature before the dense layer.

    References
    ----------
    Chambon et al. (2018), A deep learning architecture for temporal sleep stage classification
    using multivariate and multimodal time series.
    """

    N_FILTERS, KERNEL, POOL = 8, 64, 16
    MIN_TIMES = POOL**2

    def __init__(
        self, n_channels: int, n_times: int, n_classes: int, *, dropout: float = 0.5
    ) -> None:
        super().__init__()
        _check_length(n_times, self.MIN_TIMES, "chambon2018")
        self.mix = nn.Linear(n_channels, n_channels, bias=False)
        self.first = PooledConvolution(1, self.N_FILTERS, self.KERNEL, self.POOL)
        self.second = PooledConvolution(self.N_FILTERS, self.N_FILTERS, self.KERNEL, self.POOL)
        self.dropout = nn.Dropout(dropout)
        n_features = n_channels * (n_times // self.POOL**2) * self.N_FILTERS
        self.dense = nn.Linear(n_features, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        # Expanded it is one small product per window, without transposing the windows.
        mixed = self.mix.weight.expand(len(x), -1, -1) @ x
        features = self.second(self.first(mixed.flatten(0, 1).unsqueeze(1)))
        logits: Tensor = self.dense(self.dropout(features.reshape(len(x), -1)))
        return logits


class Shallow(_Network):
    """Learned band powers: filters over time, mixes of channels, squares, averages, logarithms.

    Parameters
    ----------
    n_channels : int
        Number of channels.
    n_times : int
        Samples per window, at least 39; sizes suit about 100 Hz.
    n_classes : int
        Number of classes.
    dropout : float
        Probability of dropping a feature before the dense layer.

    References
    ----------
    Schirrmeister et al. (2017), Deep learning with convolutional neural networks for EEG decoding
    and visualization.
    """

    N_FILTERS, KERNEL, POOL, STRIDE = 24, 25, 75, 15
    MIN_TIMES = KERNEL - 1 + STRIDE

    def __init__(
        self, n_channels: int, n_times: int, n_classes: int, *, dropout: float = 0.5
    ) -> None:
        super().__init__()
        _check_length(n_times, self.MIN_TIMES, "shallow")
        length = n_times - self.KERNEL + 1
        self.pool = min(self.POOL, length)
        self.temporal = nn.Conv2d(1, self.N_FILTERS, (1, self.KERNEL), bias=False)
        self.spatial = nn.Conv2d(self.N_FILTERS, self.N_FILTERS, (n_channels, 1), bias=False)
        self.norm = nn.BatchNorm1d(self.N_FILTERS)
        self.dropout = nn.Dropout(dropout)
        n_pooled = (length - self.pool) // self.STRIDE + 1
        self.dense = nn.Linear(self.N_FILTERS * n_pooled, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        # Nothing is between the two filters, and to convolve once takes half the time.
        kernels = torch.einsum(
            "ofc,ft->oct", self.spatial.weight.squeeze(-1), self.temporal.weight.flatten(1)
        )
        filtered = convolve(x, kernels)
        power = functional.avg_pool1d(self.norm(filtered).square(), self.pool, self.STRIDE)
        features = torch.log(power.clamp_min(1e-6)).flatten(1)
        logits: Tensor = self.dense(self.dropout(features))
        return logits


class LeNet1(_Network):
    """LeNet-1 for grey images: twice a convolution of 5 × 5, tanh and averaging of 2 × 2.

    Parameters
    ----------
    n_channels : int
        Height of the images in pixels; called so because a batch of images is a batch of windows.
    n_times : int
        Width of the images in pixels.
    n_classes : int
        Number of classes.

    References
    ----------
    LeCun et al. (1998), Gradient-based learning applied to document recognition.
    """

    KERNEL, SMALLEST = 5, 16

    def __init__(self, n_channels: int, n_times: int, n_classes: int) -> None:
        super().__init__()
        if min(n_channels, n_times) < self.SMALLEST:
            raise ValueError(
                f"`n_channels` and `n_times` must be at least {self.SMALLEST} pixels for lenet1, "
                f"got {n_channels} and {n_times}."
            )
        self.first = nn.Conv2d(1, 4, self.KERNEL)
        self.second = nn.Conv2d(4, 12, self.KERNEL)
        height, width = (((size - 4) // 2 - 4) // 2 for size in (n_channels, n_times))
        self.dense = nn.Linear(12 * height * width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        features = x.unsqueeze(1)
        for convolution in (self.first, self.second):
            features = functional.avg_pool2d(torch.tanh(convolution(features)), 2)
        logits: Tensor = self.dense(features.flatten(1))
        return logits
