"""What makes one simulated sleeper differ from the next."""

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
    """One sleeper.

    Parameters
    ----------
    peaks : dict of str to float
        Frequency in Hz of each rhythm and event that has one.
    gains : dict of str to float
        How much stronger than usual each rhythm and event is.
    rates : dict of str to float
        How much more often than usual each event comes.
    exponent : float
        Slope of the 1/f background.
    positions : array of shape (n_electrodes, 3)
        Where `ELECTRODES` were really put, in head radii.
    noise : array of shape (n_electrodes,)
        Noise of each of them in µV.
    eyes_open : float
        Fraction of wake with open eyes.
    wakefulness : float
        How much more than usual wake and N1 attract.
    """

    peaks: dict[str, float]
    gains: dict[str, float]
    rates: dict[str, float]
    exponent: float
    positions: NDArray[np.float64]
    noise: NDArray[np.float64]
    eyes_open: float
    wakefulness: float


def draw_subject(rng: np.random.Generator) -> Subject:
    """Draw a sleeper.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Subject
        The sleeper, who does not depend on the montage.
    """
    sources = (*RHYTHMS, *EVENTS)
    skull = rng.lognormal(0, 0.2)
    placed = electrode_positions(ELECTRODES) + rng.normal(0, _DISPLACEMENT, (len(ELECTRODES), 3))
    return Subject(
        peaks={one.name: rng.normal(one.frequency, one.shift) for one in sources},
        gains={one.name: skull * rng.lognormal(0, _SPREAD) for one in sources},
        rates={one.name: rng.lognormal(0, _SPREAD) for one in EVENTS},
        exponent=rng.normal(1.8, 0.2),
        positions=placed / np.linalg.norm(placed, axis=1, keepdims=True),
        noise=rng.lognormal(np.log(1.2), 0.4, len(ELECTRODES)),
        eyes_open=rng.uniform(0.25, 0.75),
        wakefulness=rng.lognormal(0, 0.25),
    )
