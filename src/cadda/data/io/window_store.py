"""Writing entries of the cache: complete or not at all, and in memory where the disk fails."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from cadda._internal.locks import try_lock
from cadda._internal.text import short_reason
from cadda.data.io.cache import (
    CachedRecording,
    Kind,
    cache_folder,
    checksum,
    describe_entry,
    draft_prefix,
    is_whole,
    remove_abandoned,
)

__all__ = ["WindowStore", "warn_not_written", "write_recording"]

_logger = logging.getLogger(__name__)


def warn_not_written(error: OSError) -> None:
    """Log that the cache cannot be written, and what follows from it."""
    _logger.warning(
        "Cannot write the cache in %s (%s); continuing without it, and the next call will "
        "preprocess the recordings again. Set CADDA_CACHE to a folder with space.",
        cache_folder(),
        short_reason(error),
    )


def write_recording(
    key: str,
    x: NDArray[np.float32],
    arrays: Mapping[str, NDArray[Any]],
    recording: CachedRecording,
) -> None:
    """Write the windows of one recording and what is known about each; may raise `OSError`."""
    draft = _Draft(key, x.shape[1:])
    try:
        draft.write(x)
        draft.commit("recording", [recording], len(x), arrays)
    finally:
        draft.discard()


class WindowStore:
    """Collects windows, recording by recording, in an entry or, where that fails, in memory.

    It is a context manager: nothing remains of a draft that was not finished inside. The shape is
    that of the array, with the number of windows at most; without a key, all stays in memory.
    """

    def __init__(self, key: str | None, shape: tuple[int, int, int]) -> None:
        self._shape = shape
        self._labels: list[NDArray[np.int64]] = []
        self._recordings: list[CachedRecording] = []
        self._n_windows = 0
        self._memory = np.empty(shape if key is None else (0, *shape[1:]), dtype=np.float32)
        self._draft: _Draft | None = None
        if key is not None:
            try:
                self._draft = _Draft(key, shape[1:])
                remove_abandoned()
            except OSError as error:
                self._continue_in_memory(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draft is not None:
            self._draft.discard()

    def append(
        self, x: NDArray[np.float32], y: NDArray[np.int64], recording: CachedRecording
    ) -> None:
        """Add the windows of one recording."""
        if self._draft is not None:
            try:
                self._draft.write(x)
            except OSError as error:
                self._continue_in_memory(error)
        if self._draft is None:
            self._memory[self._n_windows : self._n_windows + len(x)] = x
        self._n_windows += len(x)
        self._labels.append(y)
        self._recordings.append(recording)

    def finish(self, *, keep: bool = True) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Complete the entry, if it is to be kept; return windows and labels.

        The windows are memory-mapped if they are on disk.
        """
        y = np.concatenate(self._labels)
        if not keep:
            self._move_to_memory()
        if self._draft is not None:
            try:
                return self._draft.commit("selection", self._recordings, len(y), {"y": y}), y
            except OSError as error:
                self._continue_in_memory(error)
        return self._memory[: self._n_windows], y

    def _continue_in_memory(self, error: OSError) -> None:
        warn_not_written(error)
        if self._draft is None:
            self._memory = np.empty(self._shape, dtype=np.float32)
        self._move_to_memory()

    def _move_to_memory(self) -> None:
        if self._draft is not None:
            self._memory = np.empty(self._shape, dtype=np.float32)
            self._memory[: self._n_windows] = self._draft.read_back(self._n_windows)
            self._draft.discard()
            self._draft = None


class _Draft:
    """An entry while it is written, in a folder that no reader looks at."""

    def __init__(self, key: str, window_shape: tuple[int, ...]) -> None:
        self._key, self._window_shape = key, window_shape
        root = cache_folder()
        root.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(dir=root, prefix=draft_prefix(key)))
        self._checksum = 0
        # Without a buffer, which could fail once more when the file is closed.
        self._file = (self._folder / "x.npy").open("wb+", buffering=0)
        # As long as this process lives, no other one removes the draft.
        try_lock(self._file)
        self._n_header = self._write_header(0)

    def write(self, x: NDArray[np.float32]) -> None:
        rest = np.ascontiguousarray(x, dtype="<f4").reshape(-1).view(np.uint8).data
        self._checksum = zlib.crc32(rest, self._checksum)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read_back(self, n_windows: int) -> NDArray[np.float32]:
        """Return the windows that were written, memory-mapped; the file may have been removed."""
        shape = (n_windows, *self._window_shape)
        return np.memmap(self._file, "<f4", "c", self._n_header, shape)

    def commit(
        self,
        kind: Kind,
        recordings: Sequence[CachedRecording],
        n_windows: int,
        arrays: Mapping[str, NDArray[Any]],
    ) -> NDArray[np.float32]:
        """Rename the entry once all of it is on the disk; return its windows."""
        self._write_header(n_windows)
        os.fsync(self._file.fileno())
        x = self.read_back(n_windows)
        checksums = {"x": checksum(x, self._checksum)}
        for name, array in arrays.items():
            with self._synced(f"{name}.npy") as file:
                np.save(file, array, allow_pickle=False)
            checksums[name] = checksum(array)
        with self._synced("windows.json") as file:
            file.write(describe_entry(self._folder, kind, recordings, checksums))
        self._rename()
        # The cache may have been emptied meanwhile; the file remains as long as it is mapped.
        with suppress(FileNotFoundError):
            x = np.load(cache_folder() / self._key / "x.npy", mmap_mode="c", allow_pickle=False)
        return x

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

    @contextmanager
    def _synced(self, name: str) -> Iterator[IO[bytes]]:
        with (self._folder / name).open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def _rename(self) -> None:
        target = cache_folder() / self._key
        if os.name == "nt":
            # Windows does not rename a folder with open files.
            self._file.close()
        try:
            self._folder.rename(target)
        except OSError:
            # Another process was faster, unless its entry is damaged.
            if not is_whole(target):
                shutil.rmtree(target, ignore_errors=True)
                self._folder.rename(target)
        if os.name == "posix":
            folder = os.open(cache_folder(), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
