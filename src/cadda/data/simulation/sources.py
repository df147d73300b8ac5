"""Waveforms: noise and rhythms of the brain, events by which sleep is scored, artefacts.

Functions that draw events return waves of amplitude about 1 and shape (n_events, n_times).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "add_events",
    "blink",
    "bump",
    "fast_length",
    "glance",
    "k_complex",
    "movement",
    "muscle_burst",
    "noise",
    "one_over_f",
    "peak",
    "saccade",
    "sawtooth",
    "slow_eye_movement",
    "slow_wave",
    "spindle",
    "vertex_wave",
]

Array: TypeAlias = NDArray[np.float32]


def noise(rng: np.random.Generator, n_sources: int, n_times: int, amplitude: Array) -> Array:
    """Draw Gaussian noise of unit variance, shape (n_sources, n_times), with given amplitudes.

    The amplitudes are those of the real Fourier transform of at least `n_times` samples.
    """
    # The spectrum of a rhythm is 0 almost everywhere: draw the rest only.
    first, last = np.flatnonzero(amplitude > 1e-4 * amplitude.max())[[0, -1]]
    present = amplitude[first : last + 1]
    parts = rng.standard_normal((n_sources, len(present), 2), dtype=np.float32)
    spectrum = np.zeros((n_sources, len(amplitude)), dtype=np.complex64)
    np.multiply(parts.view(np.complex64)[..., 0], present, out=spectrum[:, first : last + 1])
    n_drawn = 2 * (len(amplitude) - 1)
    scale = n_drawn / (2 * np.sqrt(np.sum(np.square(amplitude, dtype=np.float64))))
    return np.asarray(np.fft.irfft(spectrum, n=n_drawn)[:, :n_times] * np.float32(scale))


def one_over_f(frequency: Array, exponent: float) -> Array:
    """Return amplitudes of noise with power ∝ frequency^-exponent, constant below 0.5 Hz."""
    return np.asarray(np.maximum(frequency, 0.5) ** (-exponent / 2), dtype=np.float32)


def peak(frequency: Array, centre: float, width: float) -> Array:
    """Return amplitudes of a rhythm whose power is Gaussian around its centre, in Hz."""
    return np.asarray(np.exp(-(((frequency - centre) / width) ** 2) / 4), dtype=np.float32)


def add_events(
    courses: Array, place: NDArray[np.int64], onset: NDArray[np.int64], waves: Array
) -> None:
    """Add waves to the time courses of their places, in place; onsets are in samples."""
    n_times = courses.shape[1]
    sample = onset[:, None] + np.arange(waves.shape[1])
    inside = (sample >= 0) & (sample < n_times)
    flat = (place[:, None] * n_times + sample)[inside]
    np.add.at(courses.reshape(-1), flat, waves[inside])


def spindle(rng: np.random.Generator, time: Array, n_events: int, centre: float) -> Array:
    """Draw spindles: 0.6 to 1.8 s, waxing and waning, slowing down a little."""
    seconds = _column(rng.uniform(0.6, 1.8, n_events))
    frequency = _column(rng.normal(centre, 0.3, n_events))
    phase = _column(rng.uniform(0, 2 * np.pi, n_events))
    slowing = _column(rng.normal(-0.4, 0.3, n_events))
    cycles = frequency * time + slowing * time * (time - seconds) / 2
    return _hump(time / seconds, 0.9) * np.sin(2 * np.pi * cycles + phase)


def k_complex(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw K-complexes: a steep negative wave, then a slower, smaller positive one."""
    at = time / _column(rng.uniform(0.8, 1.3, n_events))
    slow = _column(rng.uniform(0.4, 0.8, n_events))
    sharp = np.where(at < 0.25, _bell(at, 0.25, 0.055), _bell(at, 0.25, 0.13))
    return np.asarray(slow * _bell(at, 0.72, 0.21) - sharp, dtype=np.float32)


def vertex_wave(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw vertex waves: a single sharp negative wave of about 0.2 s."""
    at = time / _column(rng.uniform(0.8, 1.3, n_events))
    return 0.35 * _bell(at, 0.36, 0.08) - _bell(at, 0.2, 0.05)


def slow_wave(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw slow waves of 0.5 to 2 Hz: a negative half and a longer, smaller positive half."""
    period = _column(1 / np.clip(rng.lognormal(np.log(0.95), 0.3, n_events), 0.5, 2.0))
    turn = _column(rng.uniform(0.36, 0.48, n_events))
    at = time / period
    down = np.sin(np.pi * np.clip(at / turn, 0, 1))
    up = _hump((at - turn) / (1 - turn), 1.2)
    return np.asarray(_column(rng.uniform(0.5, 0.9, n_events)) * up - down, dtype=np.float32)


def sawtooth(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw trains of sawtooth waves of 2 to 5 Hz: slow rise, steep fall."""
    seconds = _column(rng.uniform(1.5, 5.0, n_events))
    cycle = (time * _column(rng.uniform(2.0, 5.0, n_events))) % 1
    rise = 0.75
    tooth = np.where(cycle < rise, 2 * cycle / rise - 1, 1 - 2 * (cycle - rise) / (1 - rise))
    return np.asarray(_hump(time / seconds, 0.5) * tooth, dtype=np.float32)


def blink(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw blinks: positive waves of 0.3 s, up faster than down."""
    at = time / _column(rng.uniform(0.06, 0.1, n_events))
    return np.asarray((at / 2 * np.exp(1 - at / 2)) ** 2, dtype=np.float32)


def slow_eye_movement(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw rolling eyes: one or two slow swings to either side."""
    seconds = _column(rng.uniform(2.5, 6.0, n_events))
    swings = _column(rng.uniform(1.0, 2.0, n_events) * rng.choice([-1, 1], n_events))
    swing = np.sin(2 * np.pi * swings * time / seconds)
    return np.asarray(_hump(time / seconds, 0.8) * swing, dtype=np.float32)


def saccade(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw rapid eye movements: a steep step to either side that decays."""
    sign = _column(rng.choice([-1.0, 1.0], n_events))
    decay = _column(rng.uniform(0.15, 0.6, n_events))
    rise = 1 / (1 + np.exp(-(time - 0.12) / 0.018))
    return np.asarray(sign * rise * np.exp(-np.maximum(time - 0.12, 0) / decay), dtype=np.float32)


def glance(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw glances at something that appears at time 0: a steep step that decays."""
    late = time - _column(rng.normal(0.28, 0.07, n_events))
    decay = _column(rng.uniform(0.2, 0.7, n_events))
    rise = 1 / (1 + np.exp(-late / 0.018))
    return np.asarray(rise * np.exp(-np.maximum(late, 0) / decay), dtype=np.float32)


def bump(
    rng: np.random.Generator, time: Array, n_events: int, *, centre: float, width: float
) -> Array:
    """Draw smooth waves around a time in seconds, by which they vary by a tenth of it."""
    return _bell(time, _column(rng.normal(centre, centre / 10, n_events)), width)


def muscle_burst(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw bursts of muscle activity: fast noise for up to four seconds."""
    seconds = _column(rng.uniform(0.5, 4.0, n_events))
    white = rng.standard_normal((n_events, len(time) + 1), dtype=np.float32)
    # Differences of neighbours remove the slow part.
    fast = np.diff(white, axis=1) / np.sqrt(2)
    return np.asarray(_hump(time / seconds, 0.5) * fast, dtype=np.float32)


def movement(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw movements: a few seconds of random drift at an electrode."""
    seconds = _column(rng.uniform(0.8, 4.0, n_events))
    path = np.cumsum(rng.standard_normal((n_events, len(time)), dtype=np.float32), axis=1)
    wave = _hump(time / seconds, 1.0) * path
    return np.asarray(wave / np.abs(wave).max(axis=1, keepdims=True), dtype=np.float32)


def _column(values: NDArray[np.float64]) -> Array:
    """Reshape one number per event to a column, to broadcast with times."""
    return np.asarray(values, dtype=np.float32)[:, None]


def _hump(at: Array, power: float) -> Array:
    """Rise from 0 at 0 to 1 at 1/2, and fall back to 0 at 1."""
    # Rounding may leave the sine of π a little below 0.
    half_wave = np.maximum(np.sin(np.pi * np.clip(at, 0, 1)), 0)
    return np.asarray(half_wave**power, dtype=np.float32)


def fast_length(n_times: int) -> int:
    """Return a length, at least `n_times`, whose Fourier transform is fast."""
    odd = [int(3**a * 5**b) for a in range(4) for b in range(4)]
    powers = [max((-(-n_times // factor) - 1).bit_length(), 1) for factor in odd]
    return min(factor << power for factor, power in zip(odd, powers, strict=True))


def _bell(at: Array, centre: float | Array, width: float) -> Array:
    return np.asarray(np.exp(-(((at - centre) / width) ** 2)), dtype=np.float32)
