"""A few seconds of simulated sleep EEG, to show operations without any data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation.head import electrode_positions

__all__ = ["EXAMPLE_CHANNELS", "EXAMPLE_SFREQ", "example_window"]

EXAMPLE_CHANNELS = ("C3", "C4", "O1", "O2", "F3", "F4")
EXAMPLE_SFREQ = 128.0
_FIELD_WIDTH = 0.6
"""Distance in head radii over which a source reaches the sensors around it."""


def example_window(*, seconds: float = 10.0, seed: int = 0) -> NDArray[np.float32]:
    """Simulate a window of light sleep: 1/f background, alpha, a spindle and a K-complex.

    The array has the shape (n_channels, n_times) for `EXAMPLE_CHANNELS`, standardised.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * EXAMPLE_SFREQ)) / EXAMPLE_SFREQ
    spindle_at, complex_at = 0.7 * seconds, 0.35 * seconds
    spindle = np.exp(-(((time - spindle_at) / 0.5) ** 2)) * np.sin(2 * np.pi * 13.2 * time)
    alpha = np.sin(2 * np.pi * 9.7 * time + rng.uniform(0, 2 * np.pi))
    alpha *= 0.6 + 0.4 * np.sin(2 * np.pi * 0.15 * time)
    sources = [
        (_background(rng, len(time)), "Cz", 0.7, 10.0),
        (alpha, "O2", 1.0, _FIELD_WIDTH),
        (spindle, "C3", 1.8, _FIELD_WIDTH),
        (_k_complex(time - complex_at), "F4", 4.0, 2 * _FIELD_WIDTH),
    ]
    signals = np.stack([0.5 * _background(rng, len(time)) for _ in EXAMPLE_CHANNELS])
    sensors = electrode_positions(EXAMPLE_CHANNELS)
    for course, place, strength, width in sources:
        distance = np.linalg.norm(sensors - electrode_positions([place]), axis=1)
        gain = strength * np.exp(-((distance / width) ** 2))
        signals += gain[:, None] * course
    signals -= signals.mean(axis=1, keepdims=True)
    return np.asarray(signals / signals.std(axis=1, keepdims=True), dtype=np.float32)


def _background(rng: np.random.Generator, n_times: int) -> NDArray[np.float64]:
    """Draw 1/f noise, low-passed at 30 Hz."""
    frequency = np.fft.rfftfreq(n_times, 1 / EXAMPLE_SFREQ)
    amplitude = np.maximum(frequency, 0.5) ** -0.7 / (1 + (frequency / 30) ** 8)
    phase = rng.uniform(0, 2 * np.pi, len(frequency))
    noise = np.fft.irfft(amplitude * np.exp(1j * phase), n=n_times)
    return np.asarray(noise / noise.std())


def _k_complex(time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a sharp negative wave followed by a slower positive one."""
    sharp = np.exp(-((time / 0.12) ** 2))
    slow = np.exp(-(((time - 0.45) / 0.28) ** 2))
    return 0.6 * slow - sharp
