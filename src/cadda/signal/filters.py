"""Filters with a different band for every window."""

from __future__ import annotations

import torch
from torch import Tensor

from cadda.signal.masks import smooth_box
from cadda.signal.spectral import irfft, rfft

__all__ = ["stop_band"]


def stop_band(x: Tensor, centre: Tensor, width: Tensor, sfreq: float, edge: float) -> Tensor:
    r"""Remove one frequency band from each window, with zero phase and smooth edges.

    .. math:: \mathcal F(x')[f] = \mathcal F(x)[f]\, \Big(1 -
              \sigma\big(\tfrac{f - c + w/2}{e}\big) + \sigma\big(\tfrac{f - c - w/2}{e}\big)\Big)

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    centre : Tensor
        Middle c of the band in Hz, shape (n_windows,).
    width : Tensor
        Width w of the band in Hz, shape (n_windows,); 0 leaves the window as it is.
    sfreq : float
        Sampling rate in Hz.
    edge : float
        Softness e of the edges in Hz.

    Returns
    -------
    Tensor
        Filtered windows, differentiable in ``x``, ``centre`` and ``width``.
    """
    n_times = x.shape[-1]
    spectrum = rfft(x)
    n_bins = spectrum.shape[-1]
    frequency = torch.arange(n_bins, dtype=x.dtype, device=x.device) * (sfreq / n_times)
    stopped = smooth_box(frequency, centre, width, 1 / edge)
    return irfft(spectrum * (1 - stopped)[:, None, :], n_times)
