"""Convolution, ReLU and max-pooling over time in one layer, computed in the faster of two ways."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["PooledConvolution"]


class PooledConvolution(nn.Conv1d):
    """Convolve over time, keep what is positive, and take the maximum of each ``pool`` samples.

    The convolution keeps the length. On a CPU it is not followed by pooling: convolving with
    ``pool`` shifted copies of each filter at every ``pool``-th sample and taking the maximum over
    the copies is the same, but one well-shaped matrix product instead of a thin convolution.

    Parameters
    ----------
    in_features : int
        Number of signals that come in.
    n_filters : int
        Number of signals that go out.
    kernel : int
        Length of a filter in samples.
    pool : int
        Samples that are pooled.
    """

    def __init__(self, in_features: int, n_filters: int, kernel: int, pool: int) -> None:
        super().__init__(in_features, n_filters, kernel)
        self.bias: nn.Parameter
        self.pool = pool
        # An even kernel cannot be centred: one sample less on the left keeps the length.
        self.margin = ((kernel - 1) // 2, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Filter and pool signals.

        Parameters
        ----------
        x : Tensor
            Signals of shape (n, in_features, n_times).

        Returns
        -------
        Tensor
            Shape (n, n_filters, n_times // pool).
        """
        return self.fused(x) if x.device.type == "cpu" else self.plain(x)

    def plain(self, x: Tensor) -> Tensor:
        """Filter and pool one after the other; see `forward`.

        Parameters
        ----------
        x : Tensor
            Signals of shape (n, in_features, n_times).

        Returns
        -------
        Tensor
            Shape (n, n_filters, n_times // pool).
        """
        filtered = functional.conv1d(functional.pad(x, self.margin), self.weight, self.bias)
        return functional.max_pool1d(functional.relu(filtered), self.pool)

    def fused(self, x: Tensor) -> Tensor:
        """Filter and pool by one matrix product; see `forward`.

        Parameters
        ----------
        x : Tensor
            Signals of shape (n, in_features, n_times).

        Returns
        -------
        Tensor
            Shape (n, n_filters, n_times // pool).
        """
        filters = self._shifted_filters()
        pieces = functional.pad(x, self.margin).unfold(-1, filters.shape[-1], self.pool)
        rows = pieces.transpose(1, 2).flatten(2)
        weight = filters.permute(1, 3, 0, 2).flatten(0, 1)
        products = rows @ weight.flatten(1)
        strongest = products.view(*rows.shape[:2], -1, self.pool).max(-1).values
        return functional.relu(strongest + self.bias).transpose(1, 2)

    def _shifted_filters(self) -> Tensor:
        """Give each filter at all shifts, (n_filters, in_features, pool, kernel + pool − 1).

        A filter followed by as many zeros as there are shifts, repeated and cut into rows that are
        one sample shorter than the period, moves on by one sample from row to row.
        """
        length = self.weight.shape[-1] + self.pool - 1
        period = functional.pad(self.weight, (0, self.pool))
        cut = period.repeat(1, 1, self.pool)[..., : self.pool * length]
        return cut.view(*self.weight.shape[:2], self.pool, length)
