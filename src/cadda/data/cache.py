"""Preprocessed windows on disk, so that a folder of nights is filtered once.

An entry is a folder with a memory map of the windows, ``x.npy``, their labels, ``y.npy``, and
``windows.json`` with everything else. It is written under another name and renamed when it is
whole, so that a reader finds all of it or nothing. Entries may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cadda.data.checks import Quality
from cadda.exceptions import DataError

__all__ = ["CachedWindows", "Run", "WindowStore", "cache_folder", "cache_key", "load_entry"]

_logger = logging.getLogger(__name__)

_VERSION = 1
_ABANDONED_SECONDS = 3600.0
"""A folder that nobody wrote into for so long belongs to a process that was killed."""


@dataclass(frozen=True)
class Run:
    """The windows of one recording.

    Parameters
    ----------
    subject : str
        Who was recorded.
    recording : str
        Name of the recording.
    quality : Quality
        What is known of its windows.
    """

    subject: str
    recording: str
    quality: Quality


@dataclass(frozen=True, eq=False)
class CachedWindows:
    """Windows as they come out of the cache.

    Parameters
    ----------
    x : array of shape (n_windows, n_channels, n_times)
        The windows, memory-mapped if they are on disk.
    y : array of shape (n_windows,)
        Their labels.
    runs : list of Run
        The recordings that they come from, in order.
    """

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    runs: list[Run]


def cache_folder() -> Path:
    """Say where the cache is.

    Returns
    -------
    Path
        The environment variable ``CADDA_CACHE``, or ``cadda`` in the cache folder of the system.
    """
    if chosen := os.environ.get("CADDA_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "cadda"


def cache_key(files: Iterable[Path], parameters: Mapping[str, Any]) -> str:
    """Give the name of an entry: a digest of what goes in.

    Parameters
    ----------
    files : iterable of Path
        The files that are read; their content counts, not their name or date.
    parameters : mapping
        Everything else that matters, as JSON knows it.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    digest = hashlib.sha256(_json({"version": _VERSION, **parameters}))
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:40]


def load_entry(key: str) -> CachedWindows | None:
    """Load an entry, if it is there and whole.

    Parameters
    ----------
    key : str
        Its name.

    Returns
    -------
    CachedWindows | None
        Windows, memory-mapped so that only what is used is read; None if there is no such entry
        or if it cannot be believed.
    """
    folder = cache_folder() / key
    try:
        description = json.loads((folder / "windows.json").read_text(encoding="utf-8"))
        content = description["content"]
        if description["sha256"] != hashlib.sha256(_json(content)).hexdigest():
            raise ValueError("windows.json was changed")
        for name, size in content["sizes"].items():
            if (folder / name).stat().st_size != size:
                raise ValueError(f"{name} does not have its size")
        # Copy on write: writing into the windows never reaches the file.
        x = np.load(folder / "x.npy", mmap_mode="c", allow_pickle=False)
        y = np.load(folder / "y.npy", allow_pickle=False)
        runs = [
            Run(one["subject"], one["recording"], _quality(one["quality"]))
            for one in content["runs"]
        ]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _logger.warning("The cache entry %s is not used: %s.", folder, error)
        return None
    return CachedWindows(x, y, runs)


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
                return self._draft.commit(y, [asdict(run) for run in self._runs])
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
        _remove_abandoned(root)
        self._folder = Path(tempfile.mkdtemp(dir=root, prefix=f".{key[:12]}-"))
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

    def commit(self, y: NDArray[np.int64], runs: list[dict[str, Any]]) -> CachedWindows:
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
        content = {"runs": runs, "sizes": sizes}
        description = {"sha256": hashlib.sha256(_json(content)).hexdigest(), "content": content}
        with (self._folder / "windows.json").open("wb") as file:
            file.write(_json(description))
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


def _remove_abandoned(root: Path) -> None:
    """Remove what killed processes left behind."""
    for folder in root.glob(".*-*"):
        try:
            latest = max(one.stat().st_mtime for one in (folder, *folder.iterdir()))
        except OSError:
            # Another process is removing it.
            continue
        if time.time() - latest > _ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _quality(stored: Mapping[str, Any]) -> Quality:
    return Quality(**{**stored, "amplitude": tuple(stored["amplitude"])})


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
