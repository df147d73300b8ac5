"""Trials of motor imagery of one simulated subject: sources mixed into channels."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation import sources as draw
from cadda.data.simulation.activity import SENSORS, Event, Rhythm
from cadda.data.simulation.head import lead_field, mix, places
from cadda.data.simulation.imagery_subject import (
    CHANNELS,
    EVENTS,
    HANDS,
    RHYTHMS,
    ImagerySubject,
)

__all__ = ["SFREQ", "WINDOW_SECONDS", "draw_trials"]

Array: TypeAlias = NDArray[np.float32]

SFREQ = 100.0
WINDOW_SECONDS = 4.0
"""From the cue on."""

_N_TIMES = round(WINDOW_SECONDS * SFREQ)
_TIME = (np.arange(_N_TIMES) / SFREQ).astype(np.float32)
_N_DRAWN = 480
"""More samples than a window has, because noise drawn in the Fourier domain is periodic."""

_FREQUENCY = np.fft.rfftfreq(_N_DRAWN, 1 / SFREQ).astype(np.float32)
_DRIFT_EXPONENT = 1.7

_STATE_SPREAD = 0.35
"""Standard deviation of the logarithm of amplitudes between trials, all places together."""

_PLACE_SPREAD = 0.15
"""The same of each place by itself."""

_CUE_SPREAD = 0.4
"""Standard deviation of the logarithm of responses to the cue between trials."""

_EVENT_SPREAD = 0.5
"""Standard deviation of the logarithm of the amplitude from event to event."""


def draw_trials(
    rng: np.random.Generator, subject: ImagerySubject, labels: NDArray[np.int64]
) -> Array:
    """Simulate a trial per label in µV, shape (n_trials, n_channels, n_times)."""
    n_trials = len(labels)
    signals = _drifts(rng, subject, n_trials)
    hands = _imagery(rng, subject, labels)
    for rhythm in RHYTHMS:
        courses = _rhythm(rng, rhythm, subject, n_trials)
        if rhythm.places == HANDS:
            courses *= hands
        signals += mix(_gains(subject, rhythm.places, rhythm.depth), courses)
    for event in EVENTS:
        gains = _gains(subject, event.places, event.depth)
        signals += mix(gains, _events(rng, event, subject, (n_trials, gains.shape[1], _N_TIMES)))
    return signals + _cue_responses(rng, subject, labels)


def _gains(subject: ImagerySubject, names: tuple[str, ...], depth: float) -> Array:
    """Compute the gain from each place to each channel."""
    if names == SENSORS:
        return np.eye(len(CHANNELS), dtype=np.float32)
    return _referenced(lead_field(subject.positions, places(names, depth)))


def _referenced(signals: Array) -> Array:
    """Subtract the mean of the ears from the channels; electrodes are the axis before the last."""
    channels, ears = np.split(signals, [len(CHANNELS)], axis=-2)
    return np.asarray(channels - ears.mean(axis=-2, keepdims=True))


def _drifts(rng: np.random.Generator, subject: ImagerySubject, n_trials: int) -> Array:
    """Draw the slow noise of electrodes."""
    spectrum = draw.one_over_f(_FREQUENCY, _DRIFT_EXPONENT)
    return _referenced(_noise(rng, spectrum, subject.drift, n_trials))


def _rhythm(
    rng: np.random.Generator, rhythm: Rhythm, subject: ImagerySubject, n_trials: int
) -> Array:
    """Draw the signals of one rhythm at its places."""
    if rhythm.frequency:
        spectrum = draw.peak(_FREQUENCY, subject.peaks[rhythm.name], rhythm.width)
    else:
        spectrum = draw.one_over_f(_FREQUENCY, subject.exponent)
    return _noise(rng, spectrum, subject.microvolts[rhythm.name], n_trials)


def _noise(
    rng: np.random.Generator, spectrum: Array, microvolts: NDArray[np.float64], n_trials: int
) -> Array:
    """Draw noise of places with amplitudes that vary between trials."""
    n_places = len(microvolts)
    state = rng.normal(0, _STATE_SPREAD, (n_trials, 1))
    strength = microvolts * np.exp(state + rng.normal(0, _PLACE_SPREAD, (n_trials, n_places)))
    courses = draw.noise(rng, n_trials * n_places, _N_TIMES, spectrum)
    courses = courses.reshape(n_trials, n_places, _N_TIMES)
    courses *= strength[..., None].astype(np.float32)
    return courses


def _imagery(
    rng: np.random.Generator, subject: ImagerySubject, labels: NDArray[np.int64]
) -> Array:
    """Return the factor of rhythms of the hand areas: that of the imagined hand is suppressed."""
    is_own = labels[:, None] == np.arange(len(HANDS))
    change = np.where(is_own, -subject.desynchronisation, subject.synchronisation)
    vividness = rng.gamma(2.0, 0.5, (len(labels), 1))
    onset = rng.normal(0.4, 0.1, (len(labels), 1, 1))
    course = 1 / (1 + np.exp(-(_TIME - onset) / 0.08))
    return np.exp((change * vividness)[..., None] * course).astype(np.float32)


def _events(
    rng: np.random.Generator, event: Event, subject: ImagerySubject, shape: tuple[int, int, int]
) -> Array:
    """Draw the signals of one kind of artefact, shape (n_trials, n_places, n_times)."""
    minutes = shape[0] * WINDOW_SECONDS / 60
    n_events = rng.poisson(event.per_minute[0] * subject.rates[event.name] * minutes)
    time = np.arange(round(event.seconds * SFREQ), dtype=np.float32) / np.float32(SFREQ)
    sizes = event.microvolts * rng.lognormal(0, _EVENT_SPREAD, n_events)
    waves = event.wave(rng, time, n_events) * sizes[:, None].astype(np.float32)
    courses = np.zeros((shape[0] * shape[1], shape[2]), dtype=np.float32)
    onset = rng.integers(-len(time) // 2, shape[2], n_events)
    draw.add_events(courses, rng.integers(0, len(courses), n_events), onset, waves)
    return courses.reshape(shape)


def _cue_responses(
    rng: np.random.Generator, subject: ImagerySubject, labels: NDArray[np.int64]
) -> Array:
    """Draw what follows the cue, which is shown on the side of the fist.

    A positive wave, then a slow negative one; a glance at the cue; a slow wave, negative over the
    hemisphere opposite to the cue.
    """
    n_trials = len(labels)
    positive, negative, opposite = (
        draw.bump(rng, _TIME, n_trials, centre=centre, width=width)
        for centre, width in ((0.35, 0.09), (0.7, 0.3), (0.75, 0.35))
    )
    evoked = _column(subject.evoked * rng.lognormal(0, _CUE_SPREAD, n_trials))
    side = np.where(labels == 0, -1.0, 1.0)
    glance = _column(side * subject.glance * rng.lognormal(0, _CUE_SPREAD, n_trials))
    left, right = (_column(-0.2 * subject.glance * (labels == label)) for label in range(2))
    courses = [
        (("Pz", "Cz"), 0.85, (evoked * positive, -0.6 * evoked * negative)),
        (("eyes right",), 0.0, (glance * draw.glance(rng, _TIME, n_trials),)),
        (("P4", "P3"), 0.7, (left * opposite, right * opposite)),
    ]
    parts = [
        mix(_gains(subject, names, depth), np.stack(waves, axis=1))
        for names, depth, waves in courses
    ]
    return np.asarray(sum(parts))


def _column(values: NDArray[np.float64]) -> Array:
    """Reshape one number per trial to a column, to broadcast with times."""
    return values[:, None].astype(np.float32)
