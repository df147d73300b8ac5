"""The quality of windows: which are bad, clipped or rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.rows import Signals
from cadda.data.checks import chunks
from cadda.data.rounding import is_flat
from cadda.exceptions import DataError

__all__ = [
    "Quality",
    "WindowQuality",
    "assess_windows",
    "describe_bad_channels",
    "first_of",
    "quality_of_kept",
    "raise_if_bad",
    "raise_if_rejected",
]

_CLIPPED, _MIN_CLIPPED = 0.01, 3
"""Fraction and number of samples at its maximum or minimum from which a channel is clipped."""

MAX_NAMED = 5
"""Channels, recordings and subjects that a message names."""


@dataclass(frozen=True, eq=False)
class WindowQuality:
    """The quality of each window."""

    bad_channels: NDArray[np.bool_]  # NaN, infinite or flat, shape (n_windows, n_channels)
    clipped: NDArray[np.bool_]
    spread: NDArray[np.float64]  # standard deviations, shape (n_windows, n_channels)
    rejected: NDArray[np.bool_]  # by amplitude

    @classmethod
    def empty(cls, n_windows: int, n_channels: int) -> WindowQuality:
        """Return arrays to be filled."""
        clipped, rejected = (np.empty(n_windows, dtype=bool) for _ in range(2))
        bad = np.empty((n_windows, n_channels), dtype=bool)
        return cls(bad, clipped, np.empty((n_windows, n_channels)), rejected)

    @property
    def bad(self) -> NDArray[np.bool_]:
        """Windows with a bad channel."""
        return np.asarray(self.bad_channels.any(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return dict(vars(self))

    def __getitem__(self, index: NDArray[np.bool_]) -> WindowQuality:
        """Return the quality of some windows."""
        return WindowQuality(**{name: array[index] for name, array in self.arrays().items()})

    def __setitem__(self, index: slice, part: WindowQuality) -> None:
        """Fill in the quality of some windows."""
        for name, array in self.arrays().items():
            array[index] = part.arrays()[name]

    def add_missing(self, x: NDArray[np.floating]) -> None:
        """Count channels as bad whose windows have NaN after a step, as from another channel."""
        self.bad_channels[:] |= ~np.isfinite(x).all(axis=-1)

    def summary(self) -> Quality:
        """Count the windows of each kind, and average the amplitude of the good windows."""
        good = ~(self.bad | self.rejected)
        amplitude = self.spread[good].mean(axis=0) if good.any() else self.spread[:0].sum(axis=0)
        return Quality(
            int(good.sum()),
            int(self.bad.sum()),
            int((self.clipped & good).sum()),
            tuple(amplitude.tolist()),
            int((self.rejected & ~self.bad).sum()),
            tuple(self.bad_channels.sum(axis=0).tolist()),
        )


@dataclass(frozen=True)
class Quality:
    """Numbers of good, bad, clipped and rejected windows of a source, and its amplitudes."""

    n_good: int
    n_bad: int  # with NaN or a flat channel
    n_clipped: int  # of the good windows
    amplitude: tuple[float, ...]  # mean standard deviation of each channel, before preprocessing
    n_rejected: int = 0  # by amplitude, of those that are not bad
    n_bad_of: tuple[int, ...] = ()  # windows in which each channel is bad

    @property
    def n_windows(self) -> int:
        """Number of all windows."""
        return self.n_good + self.n_bad + self.n_rejected

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
            sum(part.n_rejected for part in parts),
            tuple(map(sum, zip(*(part.n_bad_of for part in parts), strict=True))),
        )


def assess_windows(x: NDArray[Any] | Signals) -> WindowQuality:
    """Assess windows of shape (n_windows, n_channels, n_times), a chunk at a time."""
    bad = np.empty(x.shape[:2], dtype=bool)
    clipped = np.empty(len(x), dtype=bool)
    spread = np.empty(x.shape[:2])
    for here in chunks(len(x)):
        chunk = np.asarray(x[here])
        finite = np.isfinite(chunk).all(axis=-1)
        with np.errstate(all="ignore"):
            highest, lowest = chunk.max(-1, keepdims=True), chunk.min(-1, keepdims=True)
            at_edge = np.maximum((chunk == highest).sum(-1), (chunk == lowest).sum(-1))
            spread[here] = chunk.std(-1, dtype=float)
        bad[here] = ~finite | is_flat(chunk)
        clipped[here] = (at_edge >= max(_MIN_CLIPPED, _CLIPPED * chunk.shape[-1])).any(axis=1)
    return WindowQuality(bad, clipped, spread, np.zeros(len(x), dtype=bool))


def quality_of_kept(x: NDArray[Any] | Signals) -> Quality:
    """Summarise windows that are all kept on purpose, flat channels included."""
    return replace(assess_windows(x).summary(), n_bad=0, n_good=len(x), n_bad_of=())


def raise_if_rejected(quality: Quality, labels: NDArray[np.int64], where: str) -> None:
    """Raise if the windows that are not rejected are of fewer than two classes."""
    if quality.n_rejected and quality.n_good and len(np.unique(labels)) < 2:
        raise DataError(
            f"{where}: {quality.n_rejected} windows exceed `reject`, and the others are of one "
            "class only; choose a higher `reject`."
        )


def describe_bad_channels(quality: Quality, ch_names: Sequence[str]) -> str:
    """Return the channels that are bad in most windows, such as ``"Cz (5), C4 (2)"``."""
    counts = zip(quality.n_bad_of, ch_names, strict=True) if quality.n_bad else ()
    ranked = sorted(counts, key=lambda item: -item[0])
    bad = [f"{name} ({count})" for count, name in ranked if count]
    return first_of(bad)


def first_of(names: Sequence[str]) -> str:
    """Return names separated by commas; of many, the first and how many more."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def raise_if_bad(
    quality: Quality, where: str, ch_names: Sequence[str], recordings: str = ""
) -> None:
    """Raise if a source has bad windows; `where` names it, `recordings` those with the most."""
    total = quality.n_windows
    channels = describe_bad_channels(quality, ch_names)
    if not quality.n_good and quality.n_rejected:
        raise DataError(
            f"{where}: {quality.n_rejected} of {total} windows exceed `reject`, and no other "
            "window is good; choose a higher `reject`."
        )
    if not quality.n_good:
        raise DataError(
            f"{where}: all {total} windows have NaN or a flat channel, {channels}; select "
            "channels that were recorded with `channels`."
        )
    if quality.n_bad:
        raise DataError(
            f"{where}: {quality.n_bad} of {total} windows have NaN or a flat channel, {channels}; "
            "drop them with `on_bad='drop'`, or select other channels with `channels`"
            f"{f'; they are of {recordings}' * bool(recordings)}."
        )
