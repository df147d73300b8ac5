"""Positions of sensors that several recordings share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["shared_positions"]

MAX_DISTANCE = 1e-3
"""Metres by which the positions of a sensor may differ, as by rounding in files."""


def shared_positions(
    positions: Sequence[NDArray[np.float64] | None],
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the positions on which all sources agree that have some, and notes.

    Without any, or if they differ, None stands for those of a standard montage, by name. The order
    of the sources does not matter.
    """
    known = [own for own in positions if own is not None]
    if not known:
        return None, ()
    stacked = np.stack(known)
    missing = np.isnan(stacked)
    lowest = np.where(missing, np.inf, stacked).min(axis=0)
    highest = np.where(missing, -np.inf, stacked).max(axis=0)
    is_known = np.isfinite(lowest)
    shared = np.full(lowest.shape, np.nan)
    # The middle is the same in any order of the sources.
    shared[is_known] = (lowest[is_known] + highest[is_known]) / 2
    extent = np.where(is_known, highest, 0.0) - np.where(is_known, lowest, 0.0)
    furthest = float(np.linalg.norm(extent, axis=1).max())
    if furthest <= MAX_DISTANCE:
        return shared, ()
    return None, (
        f"recordings have their sensors at different positions, up to {1000 * furthest:.0f} mm "
        "apart, so that those of a standard montage are used, by the names of the channels",
    )
