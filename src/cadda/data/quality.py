"""What is wrong with windows: NaN, flat and clipped channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda.data.checks import chunks
from cadda.exceptions import DataError

__all__ = ["Quality", "WindowQuality", "assess_windows", "quality_of_kept", "raise_if_bad"]

_CLIPPED = 0.01
"""From this fraction of its samples at one edge on, a channel is clipped."""


@dataclass(frozen=True, eq=False)
class WindowQuality:
    """What is wrong with windows, one by one."""

    bad: NDArray[np.bool_]
    clipped: NDArray[np.bool_]
    spread: NDArray[np.float64]

    def __getitem__(self, index: NDArray[np.bool_]) -> WindowQuality:
        """Return the quality of some windows."""
        return WindowQuality(self.bad[index], self.clipped[index], self.spread[index])

    def quality(self) -> Quality:
        """Sum up."""
        good = ~self.bad
        amplitude = self.spread[good].mean(axis=0) if good.any() else self.spread[:0].sum(axis=0)
        n_clipped = int((self.clipped & good).sum())
        return Quality(int(good.sum()), int(self.bad.sum()), n_clipped, tuple(amplitude.tolist()))


@dataclass(frozen=True)
class Quality:
    """How many windows of a source are flawed, and how strong its signals are."""

    n_good: int
    n_bad: int
    n_clipped: int
    amplitude: tuple[float, ...]

    @classmethod
    def of_all(cls, parts: Sequence[Quality]) -> Quality:
        """Sum up several sources."""
        weights = np.array([part.n_good for part in parts], dtype=float)
        amplitude = weights @ np.array([part.amplitude for part in parts]) / max(weights.sum(), 1)
        return cls(
            sum(part.n_good for part in parts),
            sum(part.n_bad for part in parts),
            sum(part.n_clipped for part in parts),
            tuple(amplitude.tolist()),
        )


def assess_windows(x: NDArray[Any]) -> WindowQuality:
    """Look at windows, a chunk at a time."""
    bad = np.empty(len(x), dtype=bool)
    clipped = np.empty(len(x), dtype=bool)
    spread = np.empty(x.shape[:2])
    for here in chunks(len(x)):
        chunk = x[here]
        finite = np.isfinite(chunk).all(axis=(1, 2))
        with np.errstate(all="ignore"):
            highest, lowest = chunk.max(-1, keepdims=True), chunk.min(-1, keepdims=True)
            flat = highest == lowest
            at_edge = np.maximum((chunk == highest).mean(-1), (chunk == lowest).mean(-1))
            spread[here] = chunk.std(-1, dtype=float)
        bad[here] = ~finite | flat.any(axis=(1, 2))
        clipped[here] = (at_edge >= _CLIPPED).any(axis=1)
    return WindowQuality(bad, clipped, spread)


def quality_of_kept(x: NDArray[Any]) -> Quality:
    """Describe windows that are used whatever they look like: even a flat channel was meant."""
    return replace(assess_windows(x).quality(), n_bad=0, n_good=len(x))


def raise_if_bad(quality: Quality, where: str) -> None:
    """Refuse data with bad windows."""
    total = quality.n_good + quality.n_bad
    if not quality.n_good:
        raise DataError(
            f"{where}: all {total} windows have NaN or a flat channel; leave channels that were "
            "not recorded out with `channels`."
        )
    if quality.n_bad:
        raise DataError(
            f"{where}: {quality.n_bad} of {total} windows have NaN or a flat channel; drop them "
            "with on_bad='drop', or leave channels that were not recorded out with "
            "`channels`."
        )
