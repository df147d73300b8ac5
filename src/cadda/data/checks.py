"""Checks of the arguments of `Windows`: signals, labels, subjects, names and positions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

__all__ = [
    "check_finite",
    "check_labels_in_range",
    "check_names",
    "check_per_window",
    "check_positions",
    "check_signals",
    "chunks",
    "count_missing",
]

CHUNK = 64
"""Windows that are processed together, so that memory-mapped data are never loaded whole."""


def check_signals(x: ArrayLike | Tensor) -> Tensor:
    """Check windows of real numbers; return them as float32, without a copy if possible."""
    values = x if isinstance(x, Tensor) else np.asarray(x)
    if isinstance(values, Tensor):
        real = not values.is_complex() and values.dtype is not torch.bool
    else:
        real = values.dtype.kind in "fiu"
    if not real:
        raise TypeError(f"`x` must hold real numbers, got {values.dtype}.")
    shape = tuple(values.shape)
    if len(shape) != 3:
        raise ValueError(
            f"`x` must have shape (n_windows, n_channels, n_times), got {shape}; "
            "one channel is x[:, None]."
        )
    if 0 in shape:
        raise ValueError(f"`x` must not be empty, got shape {shape}.")
    if isinstance(values, Tensor):
        return values.detach().to("cpu", torch.float32)
    return _without_copy(values)


def check_finite(x: Tensor) -> None:
    """Raise if windows have NaN or infinite values."""
    bad = sum(int((~x[here].isfinite()).flatten(1).any(1).sum()) for here in chunks(len(x)))
    if bad:
        raise ValueError(
            f"`x` must be finite, but {bad} of {len(x)} windows have NaN or infinite values; "
            "drop them, or read with on_bad='drop'."
        )


def check_labels_in_range(
    y: ArrayLike | Tensor, n_windows: int, class_names: Sequence[str]
) -> Tensor:
    """Check for a valid label per window and at least two classes; return int64 labels."""
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
    twice = sorted({name for name in names if list(names).count(name) > 1})
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
    return array.astype(str)


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
