"""The head of a simulated subject: electrodes, sources, and the lead field between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cadda.data.channels import resolve_montage

__all__ = [
    "EYES",
    "Place",
    "electrode_positions",
    "eyes",
    "lead_field",
    "mix",
    "places",
    "scalp",
]

_BETWEEN_EYES = (0.0, 0.85, -0.6)
"""In head radii."""

EYES = ("eyes up", "eyes right")
"""In place of points of the scalp: the movements of the eyes."""


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
    return Place(_BETWEEN_EYES, moment, tuple(seen_at))


@cache
def places(names: Sequence[str], depth: float) -> tuple[Place, ...]:
    """Return dipoles below points of the scalp, or those of `EYES`."""
    return tuple(
        eyes(name.removeprefix("eyes ")) if name in EYES else scalp(name, depth) for name in names
    )


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


def mix(gains: NDArray[np.float32], courses: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum the time courses of sources, shape (..., n_sources, n_times), with gains to channels."""
    # A matrix product rounds differently with another number of threads.
    return np.asarray(np.einsum("cp,...pt->...ct", gains, courses))


def _potential(points: NDArray[np.float64], place: Place) -> NDArray[np.float64]:
    away = points - np.array(place.position)
    return np.asarray(away @ np.array(place.moment) / np.linalg.norm(away, axis=1) ** 3)
