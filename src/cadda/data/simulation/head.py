"""The head of a simulated subject: electrodes, derivations and the lead field of sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean
from cadda.data.channels import resolve_montage

__all__ = [
    "ELECTRODES",
    "SLEEP_MONTAGES",
    "Place",
    "SleepMontage",
    "electrode_positions",
    "eyes",
    "lead_field",
    "scalp",
    "sleep_montage",
]

_EYES = (0.0, 0.85, -0.6)
"""Between the two eyes, in head radii."""


@dataclass(frozen=True)
class SleepMontage:
    """The channels of a sleep recording."""

    name: str
    sfreq: float
    derivations: tuple[tuple[str, tuple[str, ...]], ...]  # an electrode, and its references
    ch_names: tuple[str, ...]

    @property
    def electrodes(self) -> tuple[str, ...]:
        """The electrodes that any derivation uses, in the order of `ELECTRODES`."""
        used = {name for plus, minus in self.derivations for name in (plus, *minus)}
        return tuple(name for name in ELECTRODES if name in used)

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Channels from electrodes, shape (n_channels, n_electrodes); each row sums to 0."""
        column = {name: i for i, name in enumerate(self.electrodes)}
        matrix = np.zeros((len(self.derivations), len(column)), dtype=np.float32)
        for row, (plus, minus) in zip(matrix, self.derivations, strict=True):
            row[column[plus]] += 1
            for name in minus:
                row[column[name]] -= 1 / len(minus)
        return matrix


ELECTRODES = ("Fpz", "Cz", "Pz", "Oz", "C3", "C4", "F3", "F4", "O1", "O2", "A1", "A2")

_LINKED_EARS = ("A1", "A2")
_MASS_CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")

SLEEP_MONTAGES = {
    "physionet": SleepMontage(
        "physionet", 100.0, (("Fpz", ("Cz",)), ("Pz", ("Oz",))), ("Fpz-Cz", "Pz-Oz")
    ),
    "mass": SleepMontage(
        "mass", 128.0, tuple((name, _LINKED_EARS) for name in _MASS_CHANNELS), _MASS_CHANNELS
    ),
}


def sleep_montage(name: str) -> SleepMontage:
    """Return a montage by name."""
    if name not in SLEEP_MONTAGES:
        choices = " or ".join(repr(known) for known in SLEEP_MONTAGES)
        hint = did_you_mean(str(name), SLEEP_MONTAGES)
        raise ValueError(f"`montage` must be {choices}, got {name!r}{hint}.")
    return SLEEP_MONTAGES[name]


@dataclass(frozen=True)
class Place:
    """A current dipole in the head, all in head radii around its centre."""

    position: tuple[float, ...]
    moment: tuple[float, ...]
    seen_at: tuple[float, ...]  # where its potential is 1


def scalp(name: str, depth: float) -> Place:
    """Return a radial dipole below a point of the scalp."""
    point = electrode_positions([name])[0]
    return Place(tuple((1 - depth) * point), tuple(point), tuple(point))


def eyes(direction: str) -> Place:
    """Return the dipole of a movement of both eyes, ``"up"`` or ``"right"``."""
    moment = (0.0, 0.0, 1.0) if direction == "up" else (1.0, 0.0, 0.0)
    seen_at = electrode_positions(["Fpz" if direction == "up" else "F8"])[0]
    return Place(_EYES, moment, tuple(seen_at))


def electrode_positions(names: Sequence[str]) -> NDArray[np.float64]:
    """Return positions of electrodes on a head of radius 1, shape (n_electrodes, 3)."""
    positions = resolve_montage(names).positions
    return np.asarray(positions / np.linalg.norm(positions, axis=1, keepdims=True))


def lead_field(electrodes: NDArray[np.float64], places: Sequence[Place]) -> NDArray[np.float32]:
    r"""Compute the gain from each source to each electrode, shape (n_electrodes, n_places).

    The potential of a dipole q in an unbounded conductor,
    :math:`V(r) \propto q \cdot (r - s) / |r - s|^3`, relative to the point `Place.seen_at`.
    """
    columns = [
        _potential(electrodes, place) / _potential(np.array([place.seen_at]), place)
        for place in places
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _potential(points: NDArray[np.float64], place: Place) -> NDArray[np.float64]:
    away = points - np.array(place.position)
    return np.asarray(away @ np.array(place.moment) / np.linalg.norm(away, axis=1) ** 3)
