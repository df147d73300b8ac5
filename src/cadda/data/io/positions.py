"""Positions of sensors that several recordings share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["shared_positions"]

MAX_DISTANCE = 0.02
"""Metres of a sensor from its mean position: caps sit differently on each head, but not more."""


def shared_positions(
    positions: Sequence[NDArray[np.float64] | None],
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the mean positions of all sources that have some, and notes.

    Without any, or if they differ too much, None stands for those of a standard montage, by name.
    The order of the sources does not matter.
    """
    known = [own for own in positions if own is not None]
    if not known:
        return None, ()
    # Sorted, so that rounding is the same in any order of the sources.
    shared = np.ma.masked_invalid(np.sort(known, axis=0)).mean(axis=0).filled(np.nan)
    furthest = float(np.nanmax(np.linalg.norm(np.stack(known) - shared, axis=-1)))
    if furthest <= MAX_DISTANCE:
        return shared, ()
    return None, (
        f"recordings have their sensors at different positions, up to {1000 * furthest:.0f} mm "
        "from their mean, so that those of a standard montage are used, by the names of the "
        "channels",
    )
