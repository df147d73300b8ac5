"""Checks of the arguments of `Windows`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from cadda._internal.limits import MAX_CHANNELS, MAX_CLASSES
from cadda._internal.rows import Rows, Signals
from cadda._internal.text import did_you_mean, has_hidden, quote
from cadda._internal.validation import check_class_name
from cadda.data.rounding import to_single

__all__ = [
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
    "plain_names",
]

CHUNK = 64
"""Windows that are processed together, so that memory-mapped data are never loaded whole."""


def check_signals(x: ArrayLike | Tensor) -> Signals:
    """Check windows of real numbers; return them as float32, without a copy if possible."""
    if isinstance(x, Rows):
        return x
    _check_not_masked(x, "x")
    values = x if isinstance(x, Tensor) else _as_array(x, "x")
    if isinstance(values, Tensor):
        _check_dense(values)
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
        values = values.detach().cpu()
        # NumPy lacks some of the shorter types of torch.
        long = values.dtype is torch.float64
        return torch.from_numpy(to_single(values.numpy())) if long else values.float()
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
    is_bad = torch.cat([(~x[here].isfinite()).flatten(1).any(1) for here in chunks(len(x))])
    if is_bad.any():
        first = int(is_bad.int().argmax())
        raise ValueError(
            f"`x` must be finite, but {int(is_bad.sum())} of {len(x)} windows have NaN or "
            f"infinite values, first x[{first}]; leave them out of all arrays."
        )


def check_labels(
    y: ArrayLike | Tensor, n_windows: int, class_names: Sequence[str] | None
) -> tuple[Tensor, tuple[str, ...]]:
    """Check for a valid label per window and at least two classes.

    Labels are text, booleans or integers. Returns them as int64, and the names of the classes:
    those given, or the different labels, in order, as text.
    """
    _check_not_masked(y, "y")
    labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else _as_array(y, "y")
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


def _as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return values as an array; raise `ValueError` for lists of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"`{name}` must be an array, but its lists have different lengths, got "
            f"{quote(values)}."
        ) from error


def _check_dense(x: Tensor) -> None:
    """Raise `TypeError` for tensors whose values are not one beside the other in memory."""
    is_dense = x.layout is torch.strided and not (x.is_quantized or x.is_meta or x.is_nested)
    if not is_dense:
        raise TypeError(
            f"`x` must be a dense tensor of numbers in memory, got {type(x).__name__} with "
            f"{x.layout} on {x.device.type}, {x.dtype}; convert it first, as by x.to_dense()."
        )


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
    # A set has another order each time.
    is_list = isinstance(names, Collection) and not isinstance(names, str | set | frozenset)
    if not is_list or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{argument}` must be a list of names, got {quote(names)}.")
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
    array = _as_array(value, argument)
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
    different, index = np.unique(plain_names(array), return_inverse=True)
    names = different.tolist()
    check_plain(argument, names)
    # Numbers as text would take 84 bytes each, whatever their length.
    return np.array(names, dtype=np.str_)[index]


def plain_names(values: ArrayLike) -> NDArray[np.str_]:
    """Return names as text without spaces around it; 1.0 is 1, as tables turn whole numbers.

    Examples
    --------
    >>> plain_names([1.0, 2.0, 2.5]).tolist(), plain_names([" a", "a"]).tolist()
    (['1', '2', '2.5'], ['a', 'a'])
    """
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.array([_whole(value) for value in array.tolist()], dtype=object).astype(str)
    elif array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.floor(array))
        numbers = [str(int(value)) for value in array[whole].tolist()]
        array = array.astype(str).astype(object)
        array[whole] = numbers
    return np.char.strip(array.astype(str), " ")


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float | np.floating) and value.is_integer() else value


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
    try:
        array = np.asarray(positions, dtype=float)
    except (ValueError, TypeError) as error:
        raise TypeError(
            f"`positions` must be three numbers for each channel, got {quote(positions)}."
        ) from error
    if array.shape != (n_channels, 3):
        raise ValueError(
            f"`positions` must have shape ({n_channels}, 3), one row per channel, "
            f"got {array.shape}."
        )
    if np.isinf(array).any():
        raise ValueError("`positions` must be in metres, NaN where unknown, got infinity.")
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
    array = to_single(x)
    if min(array.strides) < 0:
        array = np.ascontiguousarray(array)
    with warnings.catch_warnings():
        # Read-only memory maps are fine: nothing writes into `x`.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
