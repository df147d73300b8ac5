"""Checks of windows, labels and names, each with one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from cadda._validation import did_you_mean
from cadda.data.montage import electrodes
from cadda.exceptions import DataError

__all__ = [
    "CHUNK",
    "Flaws",
    "Quality",
    "check_finite",
    "check_labels_in_range",
    "check_names",
    "choose_classes",
    "find_channels",
    "find_flaws",
    "refuse_bad",
]

CHUNK = 64
"""Windows that are looked at together, so that memory-mapped data are never loaded whole."""

_CLIPPED = 0.01
"""From this fraction of its samples at one edge on, a channel is clipped."""

_REFERENCES = {"A1", "A2", "M1", "M2"}
"""Electrodes beside the ears: C3-A2 is what people mean by C3."""


def check_names(
    argument: str, names: Sequence[str], count: int | None = None, counted: str = ""
) -> tuple[str, ...]:
    """Refuse names that are not different texts, or not as many as there should be.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    names : sequence of str
        The names.
    count : int | None
        How many there must be.
    counted : str
        What is counted, for the message.

    Returns
    -------
    tuple of str
        The names.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{argument}` must be a list of names, got {names!r}.")
    if count is not None and len(names) != count:
        raise ValueError(
            f"`{argument}` must name the {count} {counted}, got {len(names)}: {list(names)}."
        )
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(f"`{argument}` must be different from each other, got {twice} twice.")
    # NumPy's own text type would show up in messages and files.
    return tuple(str(name) for name in names)


def check_labels_in_range(
    y: ArrayLike | Tensor, n_windows: int, class_names: Sequence[str]
) -> Tensor:
    """Refuse labels that do not name a class for every window, and data of a single class.

    Parameters
    ----------
    y : array-like of shape (n_windows,)
        The labels.
    n_windows : int
        How many there must be.
    class_names : sequence of str
        Names of the classes.

    Returns
    -------
    Tensor
        The labels as int64.
    """
    labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"`y` must hold integers, got {labels.dtype}.")
    if labels.shape != (n_windows,):
        raise ValueError(
            f"`y` must have one label per window, shape ({n_windows},), got {labels.shape}."
        )
    outside = labels[(labels < 0) | (labels >= len(class_names))]
    if len(outside):
        raise ValueError(
            f"`y` must be in 0 … {len(class_names) - 1}, one number for each of "
            f"{list(class_names)}, got {outside[0]}."
        )
    if (labels == labels[0]).all():
        only = class_names[int(labels[0])]
        raise ValueError(f"`y` must have windows of at least two classes, got only {only!r}.")
    # A copy: the caller's labels may change later.
    return torch.from_numpy(labels.astype(np.int64))


def check_finite(x: Tensor) -> None:
    """Refuse windows with NaN or infinite values, a chunk at a time.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    """
    bad = sum(int((~chunk.isfinite()).flatten(1).any(1).sum()) for chunk in torch.split(x, CHUNK))
    if bad:
        raise ValueError(
            f"`x` must be finite, but {bad} of {len(x)} windows have NaN or infinite values; "
            "drop them, or read with bad='drop' (--drop-bad)."
        )


@dataclass(frozen=True, eq=False)
class Flaws:
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


def find_flaws(x: NDArray[Any]) -> Flaws:
    """Look at windows, a chunk at a time.

    Parameters
    ----------
    x : array of shape (n_windows, n_channels, n_times)
        The windows.

    Returns
    -------
    Flaws
        What is wrong with them.
    """
    bad = np.empty(len(x), dtype=bool)
    clipped = np.empty(len(x), dtype=bool)
    spread = np.empty(x.shape[:2])
    for start in range(0, len(x), CHUNK):
        here = slice(start, start + CHUNK)
        chunk = x[here]
        finite = np.isfinite(chunk).all(axis=(1, 2))
        with np.errstate(all="ignore"):
            highest, lowest = chunk.max(-1, keepdims=True), chunk.min(-1, keepdims=True)
            flat = highest == lowest
            at_edge = np.maximum((chunk == highest).mean(-1), (chunk == lowest).mean(-1))
            spread[here] = chunk.std(-1, dtype=float)
        bad[here] = ~finite | flat.any(axis=(1, 2))
        clipped[here] = (at_edge >= _CLIPPED).any(axis=1)
    return Flaws(bad, clipped, spread)


def refuse_bad(quality: Quality, where: str) -> None:
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
            "with bad='drop' (--drop-bad), or leave channels that were not recorded out with "
            "`channels`."
        )


def choose_classes(
    names: Sequence[str],
    labels: NDArray[np.int64],
    classes: Sequence[str] | None,
    min_windows: int | None,
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Choose the classes to keep, and their order.

    Parameters
    ----------
    names : sequence of str
        Names of the classes that the data know.
    labels : array of shape (n_windows,)
        Labels, indices into ``names``; -1 where a window has no class.
    classes : sequence of str | None
        Names of the classes to keep, in the order wanted; None keeps all.
    min_windows : int | None
        Classes with fewer windows are left out; None refuses a class without any.

    Returns
    -------
    class_names : tuple of str
        Names of the classes kept.
    labels : array of shape (n_windows,)
        Labels, indices into ``class_names``; -1 where a window is left out.
    """
    chosen = list(names if classes is None else check_names("classes", classes))
    for name in chosen:
        if name not in names:
            raise ValueError(
                f"`classes` must be among {list(names)}, got {name!r}{did_you_mean(name, names)}."
            )
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    count_of = {name: int(counts[names.index(name)]) for name in chosen}
    if min_windows is None:
        empty = [name for name in chosen if not count_of[name]]
        if empty:
            raise DataError(
                f"there is no window of {', '.join(map(repr, empty))}; leave out classes without "
                "windows with min_windows=1, or name those you want in `classes`."
            )
    else:
        chosen = [name for name in chosen if count_of[name] >= max(min_windows, 1)]
    if len(chosen) < 2:
        raise DataError(
            "at least two classes must have "
            f"{'windows' if min_windows is None else f'{max(min_windows, 1)} windows or more'}, "
            f"got {count_of}."
        )
    # The last entry is where -1 points to.
    new = np.full(len(names) + 1, -1, dtype=np.int64)
    new[[names.index(name) for name in chosen]] = np.arange(len(chosen))
    return tuple(chosen), new[labels]


def find_channels(wanted: Sequence[str], available: Sequence[str], where: str) -> tuple[str, ...]:
    """Find channels by names as people write them.

    Parameters
    ----------
    wanted : sequence of str
        Names, such as ``C3``, ``Fpz-Cz`` or exactly as in the recording.
    available : sequence of str
        Names in the recording, such as ``EEG C3-CLE``.
    where : str
        Name of the recording, for the message.

    Returns
    -------
    tuple of str
        The names that the channels have in the recording, in the order wanted.
    """
    found = [_find_channel(name, available, where) for name in check_names("channels", wanted)]
    for name, channel in zip(wanted, found, strict=True):
        if found.count(channel) > 1:
            raise ValueError(
                f"`channels` must be different from each other, but {name!r} is "
                f"{channel!r} of {where}, as another one is."
            )
    return tuple(found)


def _find_channel(name: str, available: Sequence[str], where: str) -> str:
    parts = electrodes(name)
    rules = (
        lambda other: other == name,
        lambda other: _plain(other) == _plain(name),
        lambda other: bool(parts) and electrodes(other) == parts,
        lambda other: (
            len(parts) == 1
            and electrodes(other)[:1] == parts
            and set(electrodes(other)[1:]) <= _REFERENCES
        ),
    )
    for rule in rules:
        matches = [other for other in available if rule(other)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DataError(
                f"`channels` must say which channel {name!r} is: {where} has "
                f"{', '.join(map(repr, matches))}."
            )
    spelling = {_plain(other): other for other in available}
    near = [spelling[one] for one in difflib.get_close_matches(_plain(name), spelling, cutoff=0.5)]
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"it has {', '.join(map(repr, available[:20])) or 'none'}."
    raise DataError(f"`channels` must be in the recording, but {where} has no {name!r}; {hint}")


def _plain(name: str) -> str:
    """Give a name without what differs between recorders: case, dots and the word EEG."""
    return name.casefold().removeprefix("eeg").strip(" .:_-")
