"""The power spectrum of a signal, for pictures."""

from __future__ import annotations

import numpy as np
from matplotlib import mlab
from numpy.typing import NDArray

__all__ = ["HIGHEST_FREQUENCY", "power_in_decibel"]

HIGHEST_FREQUENCY = 35.0
"""Up to where spectra are drawn, in Hz."""

SECONDS = 4.0
LEAST_POWER = 1e-6
"""Less than this is drawn as this, so that nothing has a logarithm too."""

Numbers = NDArray[np.float64]


def power_in_decibel(signal: Numbers, sfreq: float) -> tuple[Numbers, Numbers]:
    """Estimate power by Welch's method, with pieces of 4 s, or of half the signal if shorter.

    Parameters
    ----------
    signal : array of shape (n_times,)
        The signal.
    sfreq : float
        Sampling rate in Hz.

    Returns
    -------
    frequency : array of shape (n_frequencies,)
        In Hz, from 0 on.
    power : array of shape (n_frequencies,)
        In dB.
    """
    length = min(len(signal) // 2, round(SECONDS * sfreq))
    power, frequency = mlab.psd(signal, NFFT=length, Fs=sfreq, noverlap=length // 2)
    least = np.maximum(np.asarray(power, dtype=float), LEAST_POWER)
    return np.asarray(frequency, dtype=float), 10 * np.log10(least)
