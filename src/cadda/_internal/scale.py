"""Whether signals have the scale that models and operations are meant for."""

from __future__ import annotations

from cadda._internal.rows import Signals

__all__ = ["describe_odd_scale"]

_SAMPLE = 64
"""Windows from which the scale of all of them is estimated."""


def describe_odd_scale(signals: Signals) -> str | None:
    """Return what is wrong with signals far from a standard deviation of 1, as in volts."""
    every = max(1, len(signals) // _SAMPLE)
    scale = float(signals[: len(signals) : every].std())
    # Flat windows have no unit.
    if scale == 0 or 0.05 < scale < 20:
        return None
    return (
        f"the windows have a standard deviation of {scale:.2g}, but models and operations are "
        "meant for about 1; use windows.standardised(), or `standardise='window'` to read them"
    )
