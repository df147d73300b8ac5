"""Functions of signals that work on their Fourier coefficients."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from cadda.signal.relaxation import smooth_box

__all__ = [
    "PICTURE_FLOOR",
    "decibel",
    "hilbert",
    "irfft",
    "power_spectrum",
    "rfft",
    "rotate_phases",
    "segment_length",
    "shift_frequencies",
    "stop_band",
]

SEGMENT_SECONDS = 4.0
PICTURE_FLOOR = 1e-6
"""Lowest power drawn of standardised signals, where an operation may leave nothing."""


def rfft(x: Tensor) -> Tensor:
    """Compute the Fourier coefficients of real signals at non-negative frequencies.

    Parameters
    ----------
    x : Tensor
        Signals of shape (…, n_times).

    Returns
    -------
    Tensor
        Complex coefficients of shape (…, n_times // 2 + 1).
    """
    spectrum: Tensor = torch.fft.rfft(x)
    return spectrum


def irfft(spectrum: Tensor, n_times: int) -> Tensor:
    """Compute real signals from their Fourier coefficients; the inverse of `rfft`.

    Parameters
    ----------
    spectrum : Tensor
        Complex coefficients of shape (…, n_times // 2 + 1).
    n_times : int
        Number of samples, even or odd.

    Returns
    -------
    Tensor
        Signals of shape (…, n_times).
    """
    x: Tensor = torch.fft.irfft(spectrum, n=n_times)
    return x


def hilbert(x: Tensor) -> Tensor:
    """Compute the Hilbert transform, the imaginary part of the analytic signal.

    Parameters
    ----------
    x : Tensor
        Real signals of shape (…, n_times).

    Returns
    -------
    Tensor
        Real signals of the same shape; what is constant, and for even ``n_times`` what is at the
        Nyquist frequency, becomes 0.
    """
    spectrum = rfft(x)
    # A turn by −90°. irfft ignores the imaginary parts that this leaves at DC and at Nyquist.
    return irfft(-1j * spectrum, x.shape[-1])


def shift_frequencies(x: Tensor, shift: Tensor, sfreq: float) -> Tensor:
    r"""Move all frequencies of each window by the same amount.

    .. math:: x'(t) = \operatorname{Re}\big(x_a(t)\, e^{2\pi i \Delta f t}\big)
                    = x(t) \cos(2\pi \Delta f t) - H[x](t) \sin(2\pi \Delta f t)

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    shift : Tensor
        Δf in Hz, shape (n_windows,).
    sfreq : float
        Sampling rate in Hz.

    Returns
    -------
    Tensor
        Shifted windows, differentiable in ``x`` and ``shift``.
    """
    time = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device) / sfreq
    angle = (2 * math.pi * shift)[:, None, None] * time
    return torch.addcmul(x * torch.cos(angle), hilbert(x), torch.sin(angle), value=-1)


def rotate_phases(x: Tensor, phase: Tensor) -> Tensor:
    r"""Add to the phase of every Fourier coefficient and keep its amplitude.

    .. math:: \mathcal F(x')[f] = \mathcal F(x)[f] \, e^{i \varphi_f}

    Parameters
    ----------
    x : Tensor
        Signals of shape (…, n_times).
    phase : Tensor
        φ in radians, broadcasts to (…, n_times // 2 + 1). It must be 0 at DC and, for even
        ``n_times``, at the Nyquist frequency, whose coefficients are real.

    Returns
    -------
    Tensor
        Real signals of the same shape as ``x``, differentiable in ``x`` and ``phase``.
    """
    turn = torch.complex(torch.cos(phase), torch.sin(phase))
    return irfft(rfft(x) * turn, x.shape[-1])


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
        Width w of the band in Hz, shape (n_windows,); 0 does not change the window.
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


def segment_length(n_times: int, sfreq: float) -> int:
    """Return the samples of a segment of `power_spectrum`: 4 s, or half of a shorter signal."""
    return min(n_times // 2, round(SEGMENT_SECONDS * sfreq))


def power_spectrum(x: ArrayLike, sfreq: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate power spectral densities by Welch's method, with segments that overlap by half.

    Of signals ``x`` (…, n_times), returns the frequencies in Hz without 0, because the mean of
    each segment is removed, and the power (…, n_frequencies) in squared units of the signals per
    Hz.
    """
    from scipy.signal import welch

    signals = np.asarray(x, dtype=np.float64)
    frequency, power = welch(signals, sfreq, nperseg=segment_length(signals.shape[-1], sfreq))
    return frequency[1:], power[..., 1:]


def decibel(power: ArrayLike, *, floor: float = 1e-20) -> NDArray[np.float64]:
    """Convert power to dB; less than ``floor`` counts as that, so that 0 has a logarithm too."""
    return np.asarray(10 * np.log10(np.maximum(power, floor)))
