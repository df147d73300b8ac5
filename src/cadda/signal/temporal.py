"""Functions that move signals in time, by fractions of a sample."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cadda.signal.spectral import rotate_phases

__all__ = ["read_at", "shift_in_time"]


def shift_in_time(x: Tensor, shift: Tensor) -> Tensor:
    r"""Move each window in time; what is missing at one end is the mirrored signal.

    .. math:: x'(t) = x(t - \delta)

    The window and its mirror image make a period without a jump, whose Fourier phases are turned.
    So a shift by a fraction of a sample is exact for what is below the Nyquist frequency.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    shift : Tensor
        δ in samples, shape (n_windows,); positive is later.

    Returns
    -------
    Tensor
        Shifted windows, differentiable in ``x`` and ``shift``.
    """
    n_times = x.shape[-1]
    frequency = torch.arange(n_times + 1, dtype=x.dtype, device=x.device) / (2 * n_times)
    phase = -2 * math.pi * frequency * shift[:, None, None]
    return rotate_phases(torch.cat([x, x.flip(-1)], dim=-1), phase)[..., :n_times].contiguous()


def read_at(x: Tensor, position: Tensor) -> Tensor:
    r"""Read each window at other positions, by cubic convolution.

    .. math:: x'(t) = \sum_{k=-1}^{2} h_k(f)\, x[n + k], \qquad n + f = \text{position}(t)

    The result is exact at samples, and has a continuous derivative between and at them.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    position : Tensor
        Positions in samples, within the window, shape (n_windows, n_times).

    Returns
    -------
    Tensor
        The windows at these positions, differentiable in ``x`` and ``position``.

    References
    ----------
    Keys (1981), Cubic convolution interpolation for digital image processing.
    """
    last = x.shape[-1] - 1
    sample = position.detach().floor().clamp(0, max(last - 1, 0))
    f = position - sample
    weights = (
        f * (-0.5 + f * (1 - 0.5 * f)),
        1 + f * f * (-2.5 + 1.5 * f),
        f * (0.5 + f * (2 - 1.5 * f)),
        f * f * (-0.5 + 0.5 * f),
    )
    result = torch.zeros_like(x)
    for k, weight in enumerate(weights, start=-1):
        index = (sample.long() + k).clamp(0, last)[:, None, :].expand_as(x)
        result = torch.addcmul(result, weight[:, None, :], x.gather(-1, index))
    return result
