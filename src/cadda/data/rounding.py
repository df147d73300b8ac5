"""What float32, in which windows are stored, cannot hold beside a large offset."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_flat", "to_single"]

_MAX_STEP = 0.01
"""Distance of neighbouring float32 numbers, in standard deviations, that is still harmless."""

_AT_ONCE = 64
"""Windows that are converted at once."""

_FLAT = 2.0**-40
"""Peak-to-peak amplitude of a flat channel of doubles, relative to its offset."""


def is_flat(x: NDArray[Any], axis: int | tuple[int, ...] = -1) -> NDArray[np.bool_]:
    """Return which signals do not vary along an axis, but for the rounding of doubles.

    A filter leaves a constant with noise in its last digits; nothing of it is signal.
    """
    with np.errstate(all="ignore"):
        highest, lowest = x.max(axis), x.min(axis)
        if x.dtype.kind != "f" or x.dtype.itemsize <= 4:
            return np.asarray(highest == lowest)
        offset = np.maximum(np.abs(highest), np.abs(lowest))
        return np.asarray(highest - lowest <= _FLAT * offset)


def to_single(x: NDArray[Any], where: str = "`x`") -> NDArray[np.float32]:
    """Return windows as float32, as they are if possible; warn if digits of the signal are lost.

    Numbers that are too large become infinite.
    """
    if x.dtype != np.float32 and x.dtype.itemsize >= 4:
        parts = (x[start : start + _AT_ONCE] for start in range(0, len(x), _AT_ONCE))
        n_changed = sum(int(_loses_signal(part).sum()) for part in parts)
        if n_changed:
            warnings.warn(
                f"{where}: an offset that is much larger than the signal leaves too few digits "
                f"for it in float32, in {n_changed} of {len(x)} windows; subtract it first, as by "
                "x - x.mean(-1, keepdims=True).",
                stacklevel=2,
            )
    with np.errstate(over="ignore"):
        return x.astype(np.float32, copy=False)


def _loses_signal(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which windows float32 would change by a hundredth of a channel's deviation."""
    with np.errstate(all="ignore"):
        step = np.abs(x).max(-1) * float(np.finfo(np.float32).eps)
        coarse = step > _MAX_STEP * x.std(-1, dtype=float)
    return np.asarray((coarse & ~is_flat(x)).any(axis=1))
