"""Windows that are collected recording by recording, into an entry of the cache or in memory."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cadda.data.io.cache import CachedWindows, Run, cache_folder, description_of, load_entry
from cadda.data.io.cache_upkeep import draft_prefix, remove_abandoned
from cadda.exceptions import DataError

__all__ = ["WindowStore"]

_logger = logging.getLogger(__name__)


class WindowStore:
    """Collects windows, recording by recording, on disk or, where that fails, in memory.

    It is a context manager: what is not finished inside leaves nothing behind.

    Parameters
    ----------
    key : str | None
        Name of the entry to make; None keeps everything in memory.
    shape : tuple of int
        Number of windows at most, of channels and of samples.
    """

    def __init__(self, key: str | None, shape: tuple[int, int, int]) -> None:
        self._shape = shape
        self._labels: list[NDArray[np.int64]] = []
        self._runs: list[Run] = []
        self._n_windows = 0
        self._memory = np.empty(shape if key is None else (0, *shape[1:]), dtype=np.float32)
        self._draft: _Draft | None = None
        if key is not None:
            try:
                self._draft = _Draft(key, shape[1:])
            except OSError as error:
                self._go_on_in_memory(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draft is not None:
            self._draft.discard()

    def append(self, x: NDArray[np.float32], y: NDArray[np.int64], run: Run) -> None:
        """Add the windows of one recording.

        Parameters
        ----------
        x : array of shape (n_windows, n_channels, n_times)
            The windows.
        y : array of shape (n_windows,)
            Their labels.
        run : Run
            The recording.
        """
        if self._draft is not None:
            try:
                self._draft.write(x)
            except OSError as error:
                self._go_on_in_memory(error)
        if self._draft is None:
            self._memory[self._n_windows : self._n_windows + len(x)] = x
        self._n_windows += len(x)
        self._labels.append(y)
        self._runs.append(run)

    def finish(self) -> CachedWindows:
        """Make the entry visible and give the windows.

        Returns
        -------
        CachedWindows
            What was collected; from the disk, or from memory if it could not be written.
        """
        y = np.concatenate(self._labels)
        if self._draft is not None:
            try:
                return self._draft.commit(y, self._runs)
            except OSError as error:
                self._go_on_in_memory(error)
        return CachedWindows(self._memory[: self._n_windows], y, self._runs)

    def _go_on_in_memory(self, error: OSError) -> None:
        _logger.warning(
            "The cache in %s cannot be written (%s); going on in memory, the next call will read "
            "the recordings again. Set CADDA_CACHE to a folder with space.",
            cache_folder(),
            error.strerror or error,
        )
        self._memory = np.empty(self._shape, dtype=np.float32)
        if self._draft is not None:
            self._memory[: self._n_windows] = self._draft.read_back(self._n_windows)
            self._draft.discard()
            self._draft = None


class _Draft:
    """An entry that is being written, in a folder that no reader looks at."""

    def __init__(self, key: str, window_shape: tuple[int, int]) -> None:
        self._key, self._window_shape = key, window_shape
        root = cache_folder()
        root.mkdir(parents=True, exist_ok=True)
        remove_abandoned()
        self._folder = Path(tempfile.mkdtemp(dir=root, prefix=draft_prefix(key)))
        # Without a buffer, which could fail once more when the file is closed.
        self._file = (self._folder / "x.npy").open("wb+", buffering=0)
        self._n_header = self._write_header(0)

    def write(self, x: NDArray[np.float32]) -> None:
        rest = np.ascontiguousarray(x, dtype="<f4").reshape(-1).view(np.uint8).data
        while rest:
            rest = rest[self._file.write(rest) :]

    def read_back(self, n_windows: int) -> NDArray[np.float32]:
        """Give the windows that were written whole."""
        shape = (n_windows, *self._window_shape)
        x = np.fromfile(
            self._folder / "x.npy", dtype="<f4", count=int(np.prod(shape)), offset=self._n_header
        )
        return x.reshape(shape)

    def commit(self, y: NDArray[np.int64], runs: list[Run]) -> CachedWindows:
        """Give the entry its name, once all of it is on the disk."""
        self._write_header(len(y))
        os.fsync(self._file.fileno())
        self._file.close()
        with (self._folder / "y.npy").open("wb") as file:
            np.save(file, y, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        names = ("x.npy", "y.npy")
        sizes = {name: (self._folder / name).stat().st_size for name in names}
        with (self._folder / "windows.json").open("wb") as file:
            file.write(description_of(runs, sizes))
            file.flush()
            os.fsync(file.fileno())
        self._rename()
        entry = load_entry(self._key)
        if entry is None:
            raise DataError(f"the cache in {cache_folder()} was emptied meanwhile; try again.")
        return entry

    def discard(self) -> None:
        self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write_header(self, n_windows: int) -> int:
        """Write the header of the array; NumPy leaves room in it for the array to grow."""
        shape = (n_windows, *self._window_shape)
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        return self._file.tell()

    def _rename(self) -> None:
        target = cache_folder() / self._key
        try:
            self._folder.rename(target)
        except OSError:
            # Another process was faster, or what is there cannot be believed.
            if load_entry(self._key) is None:
                shutil.rmtree(target, ignore_errors=True)
                self._folder.rename(target)
        if os.name == "posix":
            folder = os.open(cache_folder(), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
