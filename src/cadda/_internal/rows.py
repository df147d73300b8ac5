"""Windows in a file, by index: what is selected is read when it is used."""

from __future__ import annotations

import math
import mmap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Rows", "Signals", "batches", "join", "n_at_once", "shared_by_file", "take"]


MAX_SAMPLES = 1 << 24
"""Samples that are processed at once where not all windows need to fit into memory: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a memory-mapped array; selecting some of them reads nothing.

    Indexing reads: it returns a tensor.
    """

    array: NDArray[np.float32]  # memory-mapped, all rows
    index: Tensor | None = None  # of the rows; None for all

    @cached_property
    def _all(self) -> Tensor:
        with warnings.catch_warnings():
            # Read-only memory maps are fine: nothing writes into them.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(self.array)

    @property
    def whole(self) -> Tensor | None:
        """All rows of the array, without a copy; None if these are only some."""
        return self._all if self.index is None else None

    @property
    def shape(self) -> torch.Size:
        """Shape of what would be read."""
        return torch.Size((len(self), *self.array.shape[1:]))

    def numel(self) -> int:
        """Return the number of values."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.array) if self.index is None else len(self.index)

    def __getitem__(self, index: Any) -> Tensor:
        return self._all[index if self.index is None else self.index[index]]

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:].numpy(), dtype)

    def part(self, where: slice) -> Rows:
        """Select rows by a slice with a positive step."""
        if self.index is None:
            return Rows(self.array[where])
        return Rows(self.array, self.index[where])

    def take(self, index: Tensor) -> Rows:
        """Select rows by indices or a mask."""
        present = torch.arange(len(self)) if self.index is None else self.index
        return Rows(self.array, present[index])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the file and the place in it where workers can map it, or else the content."""
        place = _place_of(self.array) if _by_file.get() else None
        if place is None:
            return torch.clone, (self[:],)
        return _map_again, (*place, self.array.shape, self.index)


Signals: TypeAlias = Tensor | Rows
"""Windows of shape (n_windows, n_channels, n_times), in memory or in a file."""

_by_file: ContextVar[bool] = ContextVar("by_file", default=False)


@contextmanager
def shared_by_file() -> Iterator[None]:
    """Pickle rows by the name of their file, for other processes of this machine."""
    token = _by_file.set(True)
    try:
        yield
    finally:
        _by_file.reset(token)


def take(x: Signals, index: Tensor) -> Signals:
    """Select windows by indices or a mask: a copy of windows in memory, nothing of others."""
    return x.take(index) if isinstance(x, Rows) else x[index]


def join(parts: Sequence[Signals]) -> Signals:
    """Concatenate windows; those of one file stay in it."""
    rows = [part for part in parts if isinstance(part, Rows)]
    if len(rows) == len(parts) and all(part.array is rows[0].array for part in rows):
        return Rows(rows[0].array, torch.cat([_index_of(part) for part in rows]))
    return torch.cat([part[:] for part in parts])


def batches(x: Signals, size: int) -> Iterator[Tensor]:
    """Yield some windows at a time, in order."""
    for start in range(0, len(x), size):
        yield x[start : start + size]


def n_at_once(x: Signals, max_samples: int = MAX_SAMPLES) -> int:
    """Return the number of windows for which random numbers are drawn at once."""
    return max(1, max_samples // math.prod(x.shape[1:]))


def _index_of(rows: Rows) -> Tensor:
    return torch.arange(len(rows)) if rows.index is None else rows.index


def _place_of(array: NDArray[np.float32]) -> tuple[str, int] | None:
    """Return the file of a memory-mapped array and where it begins; None if it was removed."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return None
    if not array.flags.c_contiguous:
        return None
    path = Path(array.filename)
    # A view of a map has the offset of the map, not its own.
    mapped: Any = array._mmap  # type: ignore[attr-defined]
    start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    within = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    try:
        is_there = path.stat().st_size >= start + within + array.nbytes
    except OSError:
        return None
    return (str(path), start + within) if is_there else None


def _map_again(path: str, offset: int, shape: tuple[int, ...], index: Tensor | None) -> Rows:
    return Rows(np.memmap(path, np.float32, "c", offset, shape), index)
