"""What is wrong with windows: NaN, flat and clipped channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda.data.io.chunks import chunks
from cadda.exceptions import DataError

__all__ = ["Quality", "WindowQuality", "assess_windows", "quality_of_kept", "raise_if_bad"]

_CLIPPED = 0.01
"""From this fraction of its samples at one edge on, a channel is clipped."""


@dataclass(frozen=True, eq=False)
class WindowQuality:
    """What is wrong with windows, one by one.

    Parameters
    ----------
    bad : array of shape (n_windows,)
        True where a value is NaN or infinite, or where a channel is flat for the whole window; no
        model should learn from these.
    clipped : array of shape (n_windows,)
        True where a channel stays at its highest or lowest value for a hundredth of the window.
    spread : array of shape (n_windows, n_channels)
        Standard deviations.
    """

    bad: NDArray[np.bool_]
    clipped: NDArray[np.bool_]
    spread: NDArray[np.float64]

    def __getitem__(self, index: NDArray[np.bool_]) -> WindowQuality:
        """Return the quality of some windows."""
        return WindowQuality(self.bad[index], self.clipped[index], self.spread[index])

    def quality(self) -> Quality:
        """Sum up.

        Returns
        -------
        Quality
            Numbers of flawed windows, and the amplitude of the good ones.
        """
        good = ~self.bad
        amplitude = self.spread[good].mean(axis=0) if good.any() else self.spread[:0].sum(axis=0)
        n_clipped = int((self.clipped & good).sum())
        return Quality(int(good.sum()), int(self.bad.sum()), n_clipped, tuple(amplitude.tolist()))


@dataclass(frozen=True)
class Quality:
    """How many windows of a source are flawed, and how strong its signals are.

    Parameters
    ----------
    n_good : int
        Windows that are used.
    n_bad : int
        Windows with NaN or a flat channel.
    n_clipped : int
        Windows that are used, but in which a channel is clipped.
    amplitude : tuple of float
        Mean standard deviation of each channel within a window, before anything is done to it.
    """

    n_good: int
    n_bad: int
    n_clipped: int
    amplitude: tuple[float, ...]

    @classmethod
    def of_all(cls, parts: Sequence[Quality]) -> Quality:
        """Sum up several sources.

        Parameters
        ----------
        parts : sequence of Quality
            Their qualities.

        Returns
        -------
        Quality
            That of all together.
        """
        weights = np.array([part.n_good for part in parts], dtype=float)
        amplitude = weights @ np.array([part.amplitude for part in parts]) / max(weights.sum(), 1)
        return cls(
            sum(part.n_good for part in parts),
            sum(part.n_bad for part in parts),
            sum(part.n_clipped for part in parts),
            tuple(amplitude.tolist()),
        )


def assess_windows(x: NDArray[Any]) -> WindowQuality:
    """Look at windows, a chunk at a time.

    Parameters
    ----------
    x : array of shape (n_windows, n_channels, n_times)
        The windows.

    Returns
    -------
    WindowQuality
        What is wrong with them.
    """
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
    """Describe windows that are used whatever they look like: even a flat channel was meant.

    Parameters
    ----------
    x : array of shape (n_windows, n_channels, n_times)
        The windows, of which none is dropped.

    Returns
    -------
    Quality
        All windows count as good.
    """
    return replace(assess_windows(x).quality(), n_bad=0, n_good=len(x))


def raise_if_bad(quality: Quality, where: str) -> None:
    """Refuse data with bad windows.

    Parameters
    ----------
    quality : Quality
        What is known of the windows.
    where : str
        What holds them, for the message.
    """
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
