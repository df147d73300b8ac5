"""The sleep-staging network of Chambon et al. (2018)."""

from __future__ import annotations

from torch import Tensor, nn

from cadda.models._fused_convolution import PooledConvolution

__all__ = ["Chambon2018"]

N_FILTERS = 8
KERNEL = 64
POOL = 16


class Chambon2018(nn.Module):
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

    def __init__(
        self, n_channels: int, n_times: int, n_classes: int, *, dropout: float = 0.5
    ) -> None:
        super().__init__()
        if n_times < POOL**2:
            raise ValueError(f"`n_times` must be at least {POOL**2} samples, got {n_times}.")
        self.mix = nn.Linear(n_channels, n_channels, bias=False)
        self.first = PooledConvolution(1, N_FILTERS, KERNEL, POOL)
        self.second = PooledConvolution(N_FILTERS, N_FILTERS, KERNEL, POOL)
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(n_channels * (n_times // POOL**2) * N_FILTERS, n_classes)

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
        # Expanded it is one small product per window, without transposing the windows.
        mixed = self.mix.weight.expand(len(x), -1, -1) @ x
        features = self.second(self.first(mixed.flatten(0, 1).unsqueeze(1)))
        logits: Tensor = self.dense(self.dropout(features.reshape(len(x), -1)))
        return logits
