"""What simulated heads do: rhythms and events, where, how strong and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CORTEX", "MUSCLES", "SENSORS", "Event", "Rhythm"]

CORTEX = ("AFz", "F5", "F6", "FCz", "C5", "C6", "CPz", "P5", "P6", "POz")
"""Points of the scalp above the sources of the background."""

MUSCLES = ("Fp1", "Fp2", "F7", "F8", "T7", "T8")
"""Points of the scalp above muscles."""

SENSORS = ("each electrode",)
"""In place of points of the scalp: what happens at a single electrode."""


@dataclass(frozen=True)
class Rhythm:
    """An ongoing activity with a spectral peak, or 1/f noise where the frequency is 0."""

    name: str
    places: tuple[str, ...]  # points of the scalp, each above a source with its own signal
    microvolts: tuple[float, ...]  # root mean square at that point, in each state
    depth: float = 0.6  # below the scalp, in head radii
    frequency: float = 0.0  # peak in Hz, mean over subjects
    width: float = 1.0  # of the peak, in Hz
    shift: float = 0.0  # standard deviation of the peak over subjects, in Hz


@dataclass(frozen=True)
class Event:
    """A transient waveform; the fields that `Rhythm` has too are the same here."""

    name: str
    wave: Callable[..., NDArray[np.float32]]  # draws waves; some take the peak frequency as well
    seconds: float  # the longest
    places: tuple[str, ...]
    microvolts: float  # amplitude, median over events
    per_minute: tuple[float, ...]  # in each state
    depth: float = 0.7
    frequency: float = 0.0
    shift: float = 0.0
