"""Waveforms of artefacts: eyes, muscles and movements.

Each function returns waves of amplitude about 1 and shape (n_events, n_times).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation.sources import column, hump

__all__ = ["blink", "movement", "muscle_burst", "saccade", "slow_eye_movement"]


def blink(
    rng: np.random.Generator, time: NDArray[np.float32], n_events: int
) -> NDArray[np.float32]:
    """Draw blinks: positive waves of 0.3 s, up faster than down."""
    at = time / column(rng.uniform(0.06, 0.1, n_events))
    return np.asarray((at / 2 * np.exp(1 - at / 2)) ** 2, dtype=np.float32)


def slow_eye_movement(
    rng: np.random.Generator, time: NDArray[np.float32], n_events: int
) -> NDArray[np.float32]:
    """Draw rolling eyes: one or two slow swings to either side."""
    seconds = column(rng.uniform(2.5, 6.0, n_events))
    swings = column(rng.uniform(1.0, 2.0, n_events) * rng.choice([-1, 1], n_events))
    swing = np.sin(2 * np.pi * swings * time / seconds)
    return np.asarray(hump(time / seconds, 0.8) * swing, dtype=np.float32)


def saccade(
    rng: np.random.Generator, time: NDArray[np.float32], n_events: int
) -> NDArray[np.float32]:
    """Draw rapid eye movements: a steep step to either side that decays."""
    sign = column(rng.choice([-1.0, 1.0], n_events))
    decay = column(rng.uniform(0.15, 0.6, n_events))
    rise = 1 / (1 + np.exp(-(time - 0.12) / 0.018))
    return np.asarray(sign * rise * np.exp(-np.maximum(time - 0.12, 0) / decay), dtype=np.float32)


def muscle_burst(
    rng: np.random.Generator, time: NDArray[np.float32], n_events: int
) -> NDArray[np.float32]:
    """Draw bursts of muscle activity: fast noise for up to four seconds."""
    seconds = column(rng.uniform(0.5, 4.0, n_events))
    white = rng.standard_normal((n_events, len(time) + 1), dtype=np.float32)
    # Differences of neighbours remove the slow part.
    fast = np.diff(white, axis=1) / np.sqrt(2)
    return np.asarray(hump(time / seconds, 0.5) * fast, dtype=np.float32)


def movement(
    rng: np.random.Generator, time: NDArray[np.float32], n_events: int
) -> NDArray[np.float32]:
    """Draw movements: a few seconds of random drift at an electrode."""
    seconds = column(rng.uniform(0.8, 4.0, n_events))
    path = np.cumsum(rng.standard_normal((n_events, len(time)), dtype=np.float32), axis=1)
    wave = hump(time / seconds, 1.0) * path
    return np.asarray(wave / np.abs(wave).max(axis=1, keepdims=True), dtype=np.float32)
