"""The quality of windows: NaN, flat and clipped channels, amplitudes."""

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
"""A channel is clipped if this fraction of its samples is at its maximum or minimum."""


@dataclass(frozen=True, eq=False)
class WindowQuality:
    """The quality of each window."""

    bad: NDArray[np.bool_]  # NaN, infinite, or a channel is flat
    clipped: NDArray[np.bool_]
    spread: NDArray[np.float64]  # standard deviations, shape (n_windows, n_channels)

    def __getitem__(self, index: NDArray[np.bool_]) -> WindowQuality:
        """Return the quality of some windows."""
        return WindowQuality(self.bad[index], self.clipped[index], self.spread[index])

    def summary(self) -> Quality:
        """Count the windows of each kind, and average the amplitude of the good windows."""
        good = ~self.bad
        amplitude = self.spread[good].mean(axis=0) if good.any() else self.spread[:0].sum(axis=0)
        n_clipped = int((self.clipped & good).sum())
        return Quality(int(good.sum()), int(self.bad.sum()), n_clipped, tuple(amplitude.tolist()))


@dataclass(frozen=True)
class Quality:
    """Numbers of good, bad and clipped windows of a source, and its amplitudes."""

    n_good: int
    n_bad: int  # with NaN or a flat channel
    n_clipped: int  # of the good windows
    amplitude: tuple[float, ...]  # mean standard deviation of each channel, before preprocessing

    @classmethod
    def of_all(cls, parts: Sequence[Quality]) -> Quality:
        """Combine several sources."""
        weights = np.array([part.n_good for part in parts], dtype=float)
        amplitude = weights @ np.array([part.amplitude for part in parts]) / max(weights.sum(), 1)
        return cls(
            sum(part.n_good for part in parts),
            sum(part.n_bad for part in parts),
            sum(part.n_clipped for part in parts),
            tuple(amplitude.tolist()),
        )


def assess_windows(x: NDArray[Any]) -> WindowQuality:
    """Assess windows of shape (n_windows, n_channels, n_times), a chunk at a time."""
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
    """Summarise windows that are all kept on purpose, flat channels included."""
    return replace(assess_windows(x).summary(), n_bad=0, n_good=len(x))


def raise_if_bad(quality: Quality, where: str) -> None:
    """Raise if a source has bad windows; `where` names it."""
    total = quality.n_good + quality.n_bad
    if not quality.n_good:
        raise DataError(
            f"{where}: all {total} windows have NaN or a flat channel; select channels that were "
            "recorded with `channels`."
        )
    if quality.n_bad:
        raise DataError(
            f"{where}: {quality.n_bad} of {total} windows have NaN or a flat channel; drop them "
            "with on_bad='drop', or select other channels with `channels`."
        )
