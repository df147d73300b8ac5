"""Simulated subjects who imagine moving a fist: their activity, and how they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation.activity import CORTEX, MUSCLES, SENSORS, Event, Rhythm
from cadda.data.simulation.head import electrode_positions
from cadda.data.simulation.sources import movement, muscle_burst

__all__ = ["CHANNELS", "EARS", "EVENTS", "HANDS", "RHYTHMS", "ImagerySubject", "draw_subject"]

CHANNELS = ("FC3", "FC4", "C3", "Cz", "C4", "CP3", "CP4", "Pz")
EARS = ("A1", "A2")
"""Their mean is the reference of all channels."""

HANDS = ("C4", "C3")
"""Above the areas of the left hand and of the right hand."""

_OCCIPITAL = ("O1", "O2", "POz", "CPz")

RHYTHMS = (
    Rhythm("background", CORTEX, (7.5,), depth=0.75),
    Rhythm("widespread background", ("Cz",), (18.0,), depth=0.9),
    Rhythm("theta", ("Fz", "Cz", "Pz"), (2.2,), 0.85, frequency=6.5, width=1.5, shift=0.6),
    Rhythm("alpha", _OCCIPITAL, (3.4,), 0.85, frequency=9.6, width=1.8, shift=1.1),
    Rhythm("mu", HANDS, (3.1,), 0.65, frequency=10.5, width=1.5, shift=1.2),
    Rhythm("beta", HANDS, (2.8,), 0.65, frequency=20.0, width=4.5, shift=2.0),
    Rhythm(
        "parietal beta", ("P3", "P4", "POz"), (2.2,), 0.7, frequency=17.0, width=4.0, shift=1.0
    ),
    Rhythm("muscle", MUSCLES, (2.2,), depth=0.5, frequency=40.0, width=15.0),
)
EVENTS = (
    Event("muscle burst", muscle_burst, 4.0, MUSCLES, 150.0, (1.5,), depth=0.4),
    Event("movement", movement, 4.0, SENSORS, 120.0, (0.8,)),
)

_MU_RANGE = (8.0, 13.0)
_SPREAD = 0.55
"""Standard deviation of the logarithm of amplitudes and rates between subjects."""

_ASYMMETRY = 0.25
"""Standard deviation of the logarithm of amplitudes between places of one subject."""

_DISPLACEMENT = 0.06
"""Standard deviation of the place of an electrode in head radii, about 6 mm."""

_DRIFT = np.array([1.0] * len(CHANNELS) + [15.0] * len(EARS))
"""Slow noise of electrodes in µV; that of the reference is in all channels."""


@dataclass(frozen=True, eq=False)
class ImagerySubject:
    """The parameters of one simulated subject."""

    peaks: dict[str, float]  # peak frequency of each rhythm, in Hz
    microvolts: dict[str, NDArray[np.float64]]  # of each rhythm at each of its places
    rates: dict[str, float]  # factor of the rate of each event
    exponent: float  # of the 1/f background
    positions: NDArray[np.float64]  # of channels and ears, shape (n_electrodes, 3), in head radii
    drift: NDArray[np.float64]  # of channels and ears, in µV
    desynchronisation: NDArray[np.float64]  # of the hand areas, while the own hand is imagined
    synchronisation: NDArray[np.float64]  # of the hand areas, while the other hand is imagined
    evoked: float  # response to the cue, in µV
    glance: float  # eye movement towards the cue, in µV
    mirrored: bool  # left and right are exchanged


def draw_subject(rng: np.random.Generator) -> ImagerySubject:
    """Draw a subject."""
    placed = electrode_positions(CHANNELS + EARS)
    placed = placed + rng.normal(0, _DISPLACEMENT, placed.shape)
    peaks = {rhythm.name: rng.normal(rhythm.frequency, rhythm.shift) for rhythm in RHYTHMS}
    # A skewed distribution: imagery of many subjects hardly lateralises.
    laterality = rng.gamma(0.8, 0.2)
    return ImagerySubject(
        peaks=peaks | {"mu": float(np.clip(peaks["mu"], *_MU_RANGE))},
        microvolts={rhythm.name: _draw_microvolts(rng, rhythm) for rhythm in RHYTHMS},
        rates={event.name: rng.lognormal(0, _SPREAD) for event in EVENTS},
        exponent=rng.normal(1.3, 0.3),
        positions=placed / np.linalg.norm(placed, axis=1, keepdims=True),
        drift=_DRIFT * rng.lognormal(0, _SPREAD, len(_DRIFT)),
        desynchronisation=laterality * rng.uniform(0.5, 1.5, len(HANDS)),
        synchronisation=0.4 * laterality * rng.uniform(0.0, 1.5, len(HANDS)),
        evoked=rng.gamma(4.0, 4.0),
        glance=rng.gamma(6.0, 4.8),
        mirrored=bool(rng.random() < 0.5),
    )


def _draw_microvolts(rng: np.random.Generator, rhythm: Rhythm) -> NDArray[np.float64]:
    places = rng.lognormal(0, _ASYMMETRY, len(rhythm.places))
    return np.asarray(rhythm.microvolts[0] * rng.lognormal(0, _SPREAD) * places)
