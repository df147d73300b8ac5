"""Simulated sleepers, how they differ, and their recordings: sources mixed into channels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation import sources as draw
from cadda.data.simulation.activity import SENSORS, Event, Rhythm
from cadda.data.simulation.head import electrode_positions, lead_field, mix, places
from cadda.data.simulation.hypnogram import STEPS_PER_WINDOW, WINDOW_SECONDS
from cadda.data.simulation.sleep_montages import ELECTRODES, SleepMontage
from cadda.data.simulation.sleep_sources import EVENTS, RHYTHMS

__all__ = ["Subject", "draw_subject", "record"]

_STEP_SECONDS = WINDOW_SECONDS / STEPS_PER_WINDOW
_FLUCTUATION = 0.2
"""Standard deviation of the logarithm of amplitudes and rates over minutes."""

_EVENT_SPREAD = 0.35
"""Standard deviation of the logarithm of the amplitude from event to event."""

_HIGH_PASS = 0.3
"""High-pass edge of the amplifier in Hz."""

_SPREAD = 0.2
"""Standard deviation of the logarithm of amplitudes and rates between subjects."""

_DISPLACEMENT = 0.08
"""Standard deviation of the place of an electrode in head radii, about 8 mm."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The parameters of one simulated subject."""

    peaks: dict[str, float]  # peak frequency of each rhythm and event, in Hz
    gains: dict[str, float]  # factor of the amplitude of each
    rates: dict[str, float]  # factor of the rate of each event
    exponent: float  # of the 1/f background
    positions: NDArray[np.float64]  # of `ELECTRODES`, shape (n_electrodes, 3), in head radii
    noise: NDArray[np.float64]  # of each electrode, in µV
    eyes_open: float  # fraction of wake
    wakefulness: float  # how much wake and N1 attract; 1 on average


def draw_subject(rng: np.random.Generator) -> Subject:
    """Draw a subject."""
    sources = (*RHYTHMS, *EVENTS)
    skull = rng.lognormal(0, 0.2)
    placed = electrode_positions(ELECTRODES) + rng.normal(0, _DISPLACEMENT, (len(ELECTRODES), 3))
    return Subject(
        peaks={s.name: rng.normal(s.frequency, s.shift) for s in sources},
        gains={s.name: skull * rng.lognormal(0, _SPREAD) for s in sources},
        rates={event.name: rng.lognormal(0, _SPREAD) for event in EVENTS},
        exponent=rng.normal(1.8, 0.2),
        positions=placed / np.linalg.norm(placed, axis=1, keepdims=True),
        noise=rng.lognormal(np.log(1.2), 0.4, len(ELECTRODES)),
        eyes_open=rng.uniform(0.25, 0.75),
        wakefulness=rng.lognormal(0, 0.25),
    )


def record(
    rng: np.random.Generator,
    subject: Subject,
    weights: NDArray[np.float64],
    montage: SleepMontage,
) -> NDArray[np.float64]:
    """Simulate the channels of a montage in volts, shape (n_channels, n_times).

    The weights are those of `state_weights`, shape (n_steps, N_STATES).
    """
    n_times = round(len(weights) * _STEP_SECONDS * montage.sfreq)
    n_drawn = draw.fast_length(n_times)
    frequency = np.fft.rfftfreq(n_drawn, 1 / montage.sfreq).astype(np.float32)
    used = [ELECTRODES.index(name) for name in montage.electrodes]
    signals = np.zeros((len(montage.ch_names), n_times), dtype=np.float32)
    for rhythm in RHYTHMS:
        courses = _rhythm(rng, rhythm, subject, weights, frequency, n_times)
        signals += mix(_gains(rhythm, subject.positions[used], montage), courses)
    for event in EVENTS:
        gains = _gains(event, subject.positions[used], montage)
        courses = _events(rng, event, subject, weights, montage.sfreq, gains.shape[1])
        signals += mix(gains, courses)
    sensors = draw.noise(rng, len(used), n_times, draw.one_over_f(frequency, 0.5))
    signals += mix(montage.matrix * subject.noise[used].astype(np.float32), sensors)
    return _amplified(signals, montage.sfreq)


def _rhythm(
    rng: np.random.Generator,
    rhythm: Rhythm,
    subject: Subject,
    weights: NDArray[np.float64],
    frequency: NDArray[np.float32],
    n_times: int,
) -> NDArray[np.float32]:
    """Draw the signals of one rhythm at its places, in µV."""
    if rhythm.frequency:
        spectrum = draw.peak(frequency, subject.peaks[rhythm.name], rhythm.width)
    else:
        spectrum = draw.one_over_f(frequency, subject.exponent)
    strength = weights @ np.array(rhythm.microvolts) * subject.gains[rhythm.name]
    strength *= _fluctuation(rng, len(weights))
    envelope = np.interp(
        (np.arange(n_times) + 0.5) / n_times * len(weights),
        np.arange(len(weights)) + 0.5,
        strength,
    )
    courses = draw.noise(rng, len(rhythm.places), n_times, spectrum)
    courses *= envelope.astype(np.float32)
    return courses


def _events(
    rng: np.random.Generator,
    event: Event,
    subject: Subject,
    weights: NDArray[np.float64],
    sfreq: float,
    n_places: int,
) -> NDArray[np.float32]:
    """Draw the signals of one kind of event at its places, in µV."""
    n_times = round(len(weights) * _STEP_SECONDS * sfreq)
    expected = weights @ np.array(event.per_minute) * subject.rates[event.name]
    expected *= _fluctuation(rng, len(weights)) * _STEP_SECONDS / 60
    counts = rng.poisson(expected)
    step = np.repeat(np.arange(len(weights)), counts)
    n_events = len(step)
    onset = (step + rng.random(n_events)) * _STEP_SECONDS * sfreq
    time = np.arange(round(event.seconds * sfreq), dtype=np.float32) / np.float32(sfreq)
    has_frequency = event.frequency > 0
    wave = partial(event.wave, centre=subject.peaks[event.name]) if has_frequency else event.wave
    usual = event.microvolts * subject.gains[event.name]
    sizes = usual * rng.lognormal(0, _EVENT_SPREAD, n_events)
    waves = wave(rng, time, n_events) * sizes.astype(np.float32)[:, None]
    courses = np.zeros((n_places, n_times), dtype=np.float32)
    draw.add_events(courses, rng.integers(0, n_places, n_events), onset.astype(np.int64), waves)
    return courses


def _gains(
    source: Rhythm | Event, positions: NDArray[np.float64], montage: SleepMontage
) -> NDArray[np.float32]:
    """Compute the gain from each place of a source to each channel."""
    if source.places == SENSORS:
        return montage.matrix
    return montage.matrix @ lead_field(positions, places(source.places, source.depth))


def _fluctuation(rng: np.random.Generator, n_steps: int) -> NDArray[np.float64]:
    """Draw a factor around 1 that drifts over about half a minute."""
    kernel = np.hanning(STEPS_PER_WINDOW + 2)
    drift = np.convolve(rng.standard_normal(n_steps + len(kernel) - 1), kernel, mode="valid")
    return np.asarray(np.exp(_FLUCTUATION * drift / np.linalg.norm(kernel)))


def _amplified(signals: NDArray[np.float32], sfreq: float) -> NDArray[np.float64]:
    """Remove slow drifts, as an amplifier does, and convert µV to volts."""
    n_times = signals.shape[1]
    n_padded = draw.fast_length(n_times)
    frequency = np.fft.rfftfreq(n_padded, 1 / sfreq)
    passed = frequency**2 / (frequency**2 + _HIGH_PASS**2)
    spectrum = np.fft.rfft(signals.astype(np.float64), n=n_padded) * passed
    return np.asarray(np.fft.irfft(spectrum, n=n_padded)[:, :n_times] * 1e-6)
