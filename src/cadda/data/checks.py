"""Checks of windows: the arguments of `Windows`, and the quality of signals."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from cadda._internal.limits import MAX_CHANNELS, MAX_CLASSES
from cadda._internal.rows import Rows, Signals
from cadda._internal.text import did_you_mean, has_hidden, quote
from cadda._internal.validation import check_class_name
from cadda.exceptions import DataError

__all__ = [
    "Quality",
    "WindowQuality",
    "assess_windows",
    "check_classes",
    "check_finite",
    "check_labels",
    "check_names",
    "check_per_window",
    "check_plain",
    "check_positions",
    "check_signals",
    "chunks",
    "count_missing",
    "quality_of_kept",
    "raise_if_bad",
    "raise_if_rejected",
]

CHUNK = 64
"""Windows that are processed together, so that memory-mapped data are never loaded whole."""

_CLIPPED = 0.01
"""A channel is clipped if this fraction of its samples is at its maximum or minimum."""


def check_signals(x: ArrayLike | Tensor) -> Signals:
    """Check windows of real numbers; return them as float32, without a copy if possible."""
    if isinstance(x, Rows):
        return x
    _check_not_masked(x, "x")
    values = x if isinstance(x, Tensor) else np.asarray(x)
    if isinstance(values, Tensor):
        real = not values.is_complex() and values.dtype is not torch.bool
    else:
        real = values.dtype.kind in "fiu"
    if not real:
        raise TypeError(f"`x` must hold real numbers, got {values.dtype}.")
    if values.ndim == 2:
        values = values[:, None]
    shape = tuple(values.shape)
    if len(shape) != 3:
        raise ValueError(
            "`x` must have shape (n_windows, n_channels, n_times), or (n_windows, n_times) for "
            f"one channel, got {shape}."
        )
    if 0 in shape:
        raise ValueError(f"`x` must not be empty, got shape {shape}.")
    if isinstance(values, Tensor):
        return values.detach().to("cpu", torch.float32)
    if isinstance(x, np.memmap) and _is_plain(x):
        return Rows(x)
    return _without_copy(values)


def _is_plain(values: NDArray[Any]) -> bool:
    """Check that other processes can map the same values."""
    return values.dtype == np.float32 and values.dtype.isnative and values.flags.c_contiguous


def check_finite(x: Signals) -> None:
    """Raise if windows have NaN or infinite values."""
    # A sum is finite only if all values are, and takes one pass without intermediate arrays.
    if all(x[here].sum().isfinite() for here in chunks(len(x))):
        return
    bad = sum(int((~x[here].isfinite()).flatten(1).any(1).sum()) for here in chunks(len(x)))
    if bad:
        raise ValueError(
            f"`x` must be finite, but {bad} of {len(x)} windows have NaN or infinite values; "
            "drop them, or read with on_bad='drop'."
        )


def check_labels(
    y: ArrayLike | Tensor, n_windows: int, class_names: Sequence[str] | None
) -> tuple[Tensor, tuple[str, ...]]:
    """Check for a valid label per window and at least two classes.

    Labels are text, booleans or integers. Returns them as int64, and the names of the classes:
    those given, or the different labels, in order, as text.
    """
    _check_not_masked(y, "y")
    labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels.shape != (n_windows,):
        raise ValueError(
            f"`y` must have one label per window, shape ({n_windows},), got {labels.shape}."
        )
    is_text = labels.dtype.kind in "UT" or all(isinstance(label, str) for label in labels)
    if labels.dtype.kind not in "iub" and not is_text:
        raise TypeError(f"`y` must hold text, booleans or integers, got {_kind(labels)}.")
    if class_names is None:
        found, numbers = np.unique(labels.astype(str) if is_text else labels, return_inverse=True)
        names = check_classes(tuple(str(label) for label in found.tolist()), "y")
    else:
        names = check_classes(check_names("class_names", class_names), "class_names")
        if len(names) < 2:
            raise ValueError(f"`class_names` must name at least two classes, got {list(names)}.")
        numbers = _numbers_of_names(labels, names) if is_text else _in_range(labels, names)
    _check_several(names, numbers)
    # A copy: the caller's labels may change later.
    return torch.from_numpy(numbers.astype(np.int64)), names


def _check_not_masked(values: object, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"`{name}` must not be masked, as the values under the mask would be used; drop these "
            "windows."
        )


def _kind(labels: NDArray[Any]) -> str:
    """Return what labels hold, such as ``"float64"``, or the type of the first that is no text."""
    if labels.dtype.kind != "O":
        return str(labels.dtype)
    return type(next(label for label in labels if not isinstance(label, str))).__name__


def _numbers_of_names(labels: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[np.int64]:
    number = {name: i for i, name in enumerate(class_names)}
    unknown = next((label for label in labels.tolist() if label not in number), None)
    if unknown is not None:
        raise ValueError(
            f"`y` must name classes of `class_names`, {list(class_names)}, got {unknown!r}"
            f"{did_you_mean(unknown, class_names)}."
        )
    return np.array([number[label] for label in labels.tolist()])


def _in_range(labels: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[Any]:
    outside = labels[(labels < 0) | (labels >= len(class_names))]
    if len(outside):
        raise ValueError(
            f"`y` must be in 0 … {len(class_names) - 1}, one number for each of "
            f"{list(class_names)}, got {outside[0]}."
        )
    return labels


def _check_several(class_names: Sequence[str], numbers: NDArray[Any]) -> None:
    if (numbers == numbers[0]).all():
        only = class_names[int(numbers[0])]
        raise ValueError(f"`y` must have windows of at least two classes, got only {only!r}.")


def check_classes(names: tuple[str, ...], argument: str) -> tuple[str, ...]:
    """Raise `ValueError` for names that classes cannot have, or too many; return them."""
    if len(names) > MAX_CLASSES:
        raise ValueError(
            f"`{argument}` must name at most {MAX_CLASSES} classes, got {len(names)}."
        )
    for name in names:
        try:
            check_class_name(name)
        except ValueError as error:
            raise ValueError(f"`{argument}`: {error}, got {quote(name)}.") from error
    return names


def check_names(
    argument: str, names: Sequence[str], count: int | None = None, counted: str = ""
) -> tuple[str, ...]:
    """Check for different names, and how many; return them as plain `str`."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{argument}` must be a list of names, got {names!r}.")
    if count is not None and len(names) != count:
        raise ValueError(
            f"`{argument}` must name the {count} {counted}, got {len(names)}: {list(names)}."
        )
    if len(names) > MAX_CHANNELS:
        raise ValueError(f"`{argument}` must be at most {MAX_CHANNELS}, got {len(names)}.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"`{argument}` must be different from each other, got {twice} twice.")
    # NumPy's `str_` would appear in messages and files.
    return tuple(str(name) for name in names)


def check_per_window(argument: str, value: ArrayLike, n_windows: int) -> NDArray[np.str_]:
    """Check for one value per window and none missing; return them as text."""
    array = np.asarray(value)
    if array.shape != (n_windows,):
        raise ValueError(
            f"`{argument}` must have one entry per window, shape ({n_windows},), "
            f"got {array.shape}."
        )
    missing = count_missing(array.tolist())
    if missing:
        raise ValueError(
            f"`{argument}` must be known for every window, but is missing for {missing}."
        )
    different, index = np.unique(array.astype(str), return_inverse=True)
    names = different.tolist()
    check_plain(argument, names)
    # Numbers as text would take 84 bytes each, whatever their length.
    return np.array(names, dtype=np.str_)[index]


def check_plain(argument: str, texts: Iterable[str]) -> None:
    """Raise `ValueError` for texts that break lines or change what is seen."""
    hidden = next(filter(has_hidden, texts), None)
    if hidden is not None:
        raise ValueError(
            f"`{argument}` must have no line breaks, control characters or marks of direction, "
            f"got {quote(hidden)}."
        )


def check_positions(positions: ArrayLike, n_channels: int) -> NDArray[np.float64]:
    """Check for one position per channel."""
    array = np.asarray(positions, dtype=float)
    if array.shape != (n_channels, 3):
        raise ValueError(
            f"`positions` must have shape ({n_channels}, 3), one row per channel, "
            f"got {array.shape}."
        )
    return array


def count_missing(values: Iterable[Any]) -> int:
    """Count None, NaN, NaT and pandas' NA."""
    return sum(value is None or not _equals_itself(value) for value in values)


def chunks(n_windows: int) -> Iterator[slice]:
    """Yield slices of at most `CHUNK` neighbouring windows."""
    for start in range(0, n_windows, CHUNK):
        yield slice(start, min(start + CHUNK, n_windows))


@dataclass(frozen=True, eq=False)
class WindowQuality:
    """The quality of each window."""

    bad: NDArray[np.bool_]  # NaN, infinite, or a channel is flat
    clipped: NDArray[np.bool_]
    spread: NDArray[np.float64]  # standard deviations, shape (n_windows, n_channels)
    rejected: NDArray[np.bool_]  # by amplitude

    @classmethod
    def empty(cls, n_windows: int, n_channels: int) -> WindowQuality:
        """Return arrays to be filled."""
        bad, clipped, rejected = (np.empty(n_windows, dtype=bool) for _ in range(3))
        return cls(bad, clipped, np.empty((n_windows, n_channels)), rejected)

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
        )


@dataclass(frozen=True)
class Quality:
    """Numbers of good, bad, clipped and rejected windows of a source, and its amplitudes."""

    n_good: int
    n_bad: int  # with NaN or a flat channel
    n_clipped: int  # of the good windows
    amplitude: tuple[float, ...]  # mean standard deviation of each channel, before preprocessing
    n_rejected: int = 0  # by amplitude, of those that are not bad

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
        )


def assess_windows(x: NDArray[Any] | Signals) -> WindowQuality:
    """Assess windows of shape (n_windows, n_channels, n_times), a chunk at a time."""
    bad = np.empty(len(x), dtype=bool)
    clipped = np.empty(len(x), dtype=bool)
    spread = np.empty(x.shape[:2])
    for here in chunks(len(x)):
        chunk = np.asarray(x[here])
        finite = np.isfinite(chunk).all(axis=(1, 2))
        with np.errstate(all="ignore"):
            highest, lowest = chunk.max(-1, keepdims=True), chunk.min(-1, keepdims=True)
            flat = highest == lowest
            at_edge = np.maximum((chunk == highest).mean(-1), (chunk == lowest).mean(-1))
            spread[here] = chunk.std(-1, dtype=float)
        bad[here] = ~finite | flat.any(axis=(1, 2))
        clipped[here] = (at_edge >= _CLIPPED).any(axis=1)
    return WindowQuality(bad, clipped, spread, np.zeros(len(x), dtype=bool))


def quality_of_kept(x: NDArray[Any] | Signals) -> Quality:
    """Summarise windows that are all kept on purpose, flat channels included."""
    return replace(assess_windows(x).summary(), n_bad=0, n_good=len(x))


def raise_if_rejected(quality: Quality, labels: NDArray[np.int64], where: str) -> None:
    """Raise if the windows that are not rejected are of fewer than two classes."""
    if quality.n_rejected and quality.n_good and len(np.unique(labels)) < 2:
        raise DataError(
            f"{where}: {quality.n_rejected} windows exceed `reject`, and the others are of one "
            "class only; choose a higher `reject`."
        )


def raise_if_bad(quality: Quality, where: str) -> None:
    """Raise if a source has bad windows; `where` names it."""
    total = quality.n_good + quality.n_bad + quality.n_rejected
    if not quality.n_good and quality.n_rejected:
        raise DataError(
            f"{where}: {quality.n_rejected} of {total} windows exceed `reject`, and no other "
            "window is good; choose a higher `reject`."
        )
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


def _equals_itself(value: Any) -> bool:
    # pandas' NA is neither equal nor unequal to itself.
    equal = value == value
    return isinstance(equal, bool | np.bool_) and bool(equal)


def _without_copy(x: NDArray[Any]) -> Tensor:
    """Share the memory of an array where torch can: native float32, no negative strides."""
    # Numbers too large for float32 become infinite, which `check_finite` reports.
    with np.errstate(over="ignore"):
        array = x.astype(np.float32, copy=False)
    if min(array.strides) < 0:
        array = np.ascontiguousarray(array)
    with warnings.catch_warnings():
        # Read-only memory maps are fine: nothing writes into `x`.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
