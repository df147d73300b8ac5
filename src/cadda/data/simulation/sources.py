"""Waveforms of the sleeping brain: noise and rhythms, and the events that sleep is scored by."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "add_events",
    "column",
    "fast_length",
    "hump",
    "k_complex",
    "noise",
    "one_over_f",
    "peak",
    "sawtooth",
    "slow_wave",
    "spindle",
    "vertex_wave",
]

Array: TypeAlias = NDArray[np.float32]


def noise(rng: np.random.Generator, n_sources: int, n_times: int, amplitude: Array) -> Array:
    """Draw Gaussian noise with a given spectrum.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    n_sources : int
        How many independent signals.
    n_times : int
        How many samples of each.
    amplitude : array of shape (n_frequencies,)
        Amplitude at each frequency of a real Fourier transform of at least ``n_times`` samples.

    Returns
    -------
    array of shape (n_sources, n_times)
        Signals with an expected variance of 1.
    """
    # A rhythm is 0 almost everywhere, and what is not drawn costs nothing.
    first, last = np.flatnonzero(amplitude > 1e-4 * amplitude.max())[[0, -1]]
    present = amplitude[first : last + 1]
    parts = rng.standard_normal((n_sources, len(present), 2), dtype=np.float32)
    spectrum = np.zeros((n_sources, len(amplitude)), dtype=np.complex64)
    np.multiply(parts.view(np.complex64)[..., 0], present, out=spectrum[:, first : last + 1])
    n_drawn = 2 * (len(amplitude) - 1)
    scale = n_drawn / (2 * np.sqrt(np.sum(np.square(amplitude, dtype=np.float64))))
    return np.asarray(np.fft.irfft(spectrum, n=n_drawn)[:, :n_times] * np.float32(scale))


def one_over_f(frequency: Array, exponent: float) -> Array:
    """Give the amplitudes of noise whose power falls as a power of the frequency.

    Parameters
    ----------
    frequency : array
        Frequencies in Hz.
    exponent : float
        Of the power; 0 is white.

    Returns
    -------
    array
        Amplitudes, flat below 0.5 Hz.
    """
    return np.asarray(np.maximum(frequency, 0.5) ** (-exponent / 2), dtype=np.float32)


def peak(frequency: Array, centre: float, width: float) -> Array:
    """Give the amplitudes of a rhythm that waxes and wanes.

    Parameters
    ----------
    frequency : array
        Frequencies in Hz.
    centre : float
        Frequency of the rhythm in Hz.
    width : float
        Standard deviation of its peak in Hz; the wider, the shorter its bursts.

    Returns
    -------
    array
        Amplitudes.
    """
    return np.asarray(np.exp(-(((frequency - centre) / width) ** 2) / 4), dtype=np.float32)


def add_events(
    courses: Array, place: NDArray[np.int64], onset: NDArray[np.int64], waves: Array
) -> None:
    """Add waves to the time courses of sources, in place.

    Parameters
    ----------
    courses : array of shape (n_places, n_times)
        Time courses.
    place : array of shape (n_events,)
        Which source each event is in.
    onset : array of shape (n_events,)
        First sample of each event.
    waves : array of shape (n_events, length)
        The events; what goes beyond the end is cut off.
    """
    n_times = courses.shape[1]
    sample = onset[:, None] + np.arange(waves.shape[1])
    inside = (sample >= 0) & (sample < n_times)
    flat = (place[:, None] * n_times + sample)[inside]
    np.add.at(courses.reshape(-1), flat, waves[inside])


def spindle(rng: np.random.Generator, time: Array, n_events: int, centre: float) -> Array:
    """Draw spindles: 0.6 to 1.8 s, waxing and waning, slowing down a little.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    time : array of shape (n_times,)
        Seconds from the onset.
    n_events : int
        How many.
    centre : float
        Their usual frequency in Hz.

    Returns
    -------
    array of shape (n_events, n_times)
        Waves of amplitude 1.
    """
    seconds = column(rng.uniform(0.6, 1.8, n_events))
    frequency = column(rng.normal(centre, 0.3, n_events))
    phase = column(rng.uniform(0, 2 * np.pi, n_events))
    slowing = column(rng.normal(-0.4, 0.3, n_events))
    cycles = frequency * time + slowing * time * (time - seconds) / 2
    return hump(time / seconds, 0.9) * np.sin(2 * np.pi * cycles + phase)


def k_complex(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw K-complexes: a negative wave with a steep front, then a slower, smaller positive one.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    time : array of shape (n_times,)
        Seconds from the onset.
    n_events : int
        How many.

    Returns
    -------
    array of shape (n_events, n_times)
        Waves with a negative peak of about 1.
    """
    at = time / column(rng.uniform(0.8, 1.3, n_events))
    slow = column(rng.uniform(0.4, 0.8, n_events))
    sharp = np.where(at < 0.25, _bell(at, 0.25, 0.055), _bell(at, 0.25, 0.13))
    return np.asarray(slow * _bell(at, 0.72, 0.21) - sharp, dtype=np.float32)


def vertex_wave(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw vertex waves: a single sharp negative wave of about 0.2 s.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    time : array of shape (n_times,)
        Seconds from the onset.
    n_events : int
        How many.

    Returns
    -------
    array of shape (n_events, n_times)
        Waves with a negative peak of about 1.
    """
    at = time / column(rng.uniform(0.8, 1.3, n_events))
    return 0.35 * _bell(at, 0.36, 0.08) - _bell(at, 0.2, 0.05)


def slow_wave(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw slow waves of 0.5 to 2 Hz: a negative half and a longer, smaller positive half.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    time : array of shape (n_times,)
        Seconds from the onset.
    n_events : int
        How many.

    Returns
    -------
    array of shape (n_events, n_times)
        Waves with a negative peak of 1.
    """
    period = column(1 / np.clip(rng.lognormal(np.log(0.95), 0.3, n_events), 0.5, 2.0))
    turn = column(rng.uniform(0.36, 0.48, n_events))
    at = time / period
    down = np.sin(np.pi * np.clip(at / turn, 0, 1))
    up = hump((at - turn) / (1 - turn), 1.2)
    return np.asarray(column(rng.uniform(0.5, 0.9, n_events)) * up - down, dtype=np.float32)


def sawtooth(rng: np.random.Generator, time: Array, n_events: int) -> Array:
    """Draw trains of sawtooth waves of 2 to 5 Hz: slow rise, steep fall.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    time : array of shape (n_times,)
        Seconds from the onset.
    n_events : int
        How many.

    Returns
    -------
    array of shape (n_events, n_times)
        Waves of amplitude 1.
    """
    seconds = column(rng.uniform(1.5, 5.0, n_events))
    cycle = (time * column(rng.uniform(2.0, 5.0, n_events))) % 1
    rise = 0.75
    tooth = np.where(cycle < rise, 2 * cycle / rise - 1, 1 - 2 * (cycle - rise) / (1 - rise))
    return np.asarray(hump(time / seconds, 0.5) * tooth, dtype=np.float32)


def column(values: NDArray[np.float64]) -> Array:
    """Turn one number per event into a column, to go with a row of times.

    Parameters
    ----------
    values : array of shape (n_events,)
        The numbers.

    Returns
    -------
    array of shape (n_events, 1)
        The same, as float32.
    """
    return np.asarray(values, dtype=np.float32)[:, None]


def hump(at: Array, power: float) -> Array:
    """Rise from 0 at 0 to 1 at 1/2, and fall back to 0 at 1.

    Parameters
    ----------
    at : array
        Where to evaluate it.
    power : float
        The lower, the flatter the top.

    Returns
    -------
    array
        Values, 0 outside.
    """
    # Rounding may leave the sine of π a little below 0.
    half_wave = np.maximum(np.sin(np.pi * np.clip(at, 0, 1)), 0)
    return np.asarray(half_wave**power, dtype=np.float32)


def fast_length(n_times: int) -> int:
    """Find a length at which a Fourier transform is fast.

    Parameters
    ----------
    n_times : int
        How many samples there must be room for.

    Returns
    -------
    int
        An even number of at least ``n_times``.
    """
    odd = [int(3**a * 5**b) for a in range(4) for b in range(4)]
    powers = [max((-(-n_times // factor) - 1).bit_length(), 1) for factor in odd]
    return min(factor << power for factor, power in zip(odd, powers, strict=True))


def _bell(at: Array, centre: float, width: float) -> Array:
    return np.asarray(np.exp(-(((at - centre) / width) ** 2)), dtype=np.float32)
