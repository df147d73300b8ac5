"""How simulated subjects differ from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.data.simulation.head import ELECTRODES, electrode_positions
from cadda.data.simulation.tables import EVENTS, RHYTHMS

__all__ = ["Subject", "draw_subject"]

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
