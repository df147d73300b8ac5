"""Preprocessed windows on disk, so that a recording is filtered once.

A *recording* holds every labelled window of one file, filtered, in volts; a *selection* the
windows that one call asked for, in one array, which is memory-mapped. Keys are made from the
settings and the path, size and modification time of each file, so a hit reads no recording.

An entry is a folder of arrays with their checksums, written under another name and renamed once it
is complete: a reader finds all of it or nothing. Entries may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from cadda._internal.archives import check_array
from cadda._internal.limits import open_regular, parse_json, read_bytes
from cadda._internal.locks import is_abandoned
from cadda.data.quality import Quality
from cadda.exceptions import DataError

__all__ = [
    "CacheEntry",
    "CachedRecording",
    "Entry",
    "Kind",
    "SourceFile",
    "cache_entries",
    "cache_folder",
    "cache_key",
    "checksum",
    "clear_cache",
    "describe_entry",
    "draft_prefix",
    "hash_file",
    "is_current",
    "is_whole",
    "load_entry",
    "read_entry",
    "remove_abandoned",
    "remove_outdated",
]

_logger = logging.getLogger(__name__)

_VERSION = 5
_KEY_LENGTH, _DRAFT_LENGTH = 40, 12
_ENTRY = re.compile(rf"[0-9a-f]{{{_KEY_LENGTH}}}")
_DRAFT = re.compile(rf"\.[0-9a-f]{{{_DRAFT_LENGTH}}}-\w+")
_DESCRIPTION = "windows.json"
_ABANDONED_SECONDS = 3600.0  # a draft untouched for so long belongs to a killed process

READ_ERRORS = (OSError, ValueError, KeyError, TypeError)
"""What `read_entry` raises for an entry that is missing or damaged."""

Kind: TypeAlias = Literal["recording", "selection"]


@dataclass(frozen=True)
class SourceFile:
    """A file as the file system describes it, to notice a change without reading it."""

    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> SourceFile:
        """Describe a file."""
        status = path.stat()
        return cls(str(path.resolve()), status.st_size, status.st_mtime_ns)

    def has_changed(self) -> bool:
        """Check whether the file is another one by now, or has been removed."""
        try:
            return SourceFile.of(Path(self.path)) != self
        except OSError:
            return True


@dataclass(frozen=True)
class CachedRecording:
    """A recording that windows of an entry come from."""

    name: str
    sha256: dict[str, str]  # of each file when it was read, by path
    quality: Quality


@dataclass(frozen=True, eq=False)
class Entry:
    """The content of an entry; the array ``x`` is memory-mapped, copy on write."""

    recordings: tuple[CachedRecording, ...]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class _Content:
    """What ``windows.json`` holds."""

    kind: Kind
    recordings: tuple[CachedRecording, ...]
    sizes: dict[str, int]  # of the files of arrays, in bytes
    checksums: dict[str, int]  # of the arrays, see `checksum`


@dataclass(frozen=True)
class CacheEntry:
    """What is known about an entry without loading it."""

    key: str
    n_bytes: int
    made: datetime
    kind: Kind | None  # None if the entry is damaged and will not be used
    recordings: tuple[CachedRecording, ...]

    @property
    def n_windows(self) -> int:
        """Number of windows without NaN or flat channels."""
        return sum(recording.quality.n_good for recording in self.recordings)


def cache_folder() -> Path:
    """Return the environment variable ``CADDA_CACHE``, or ``cadda`` in the user's cache folder."""
    if chosen := os.environ.get("CADDA_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "cadda"


def cache_key(kind: Kind, *parts: object) -> str:
    """Return the name of an entry: a digest of values that JSON can hold."""
    digest = hashlib.sha256(_json([_VERSION, kind, *parts]))
    return digest.hexdigest()[:_KEY_LENGTH]


def hash_file(path: str | Path) -> str:
    """Compute the SHA-256 digest of the content of a file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_current(recordings: Sequence[CachedRecording]) -> bool:
    """Check by content that the files are those that were read; a missing file counts as such."""
    return all(
        _has_digest(path, sha256)
        for recording in recordings
        for path, sha256 in recording.sha256.items()
    )


def _has_digest(path: str, sha256: str) -> bool:
    try:
        return hash_file(path) == sha256
    except FileNotFoundError:
        return True


def checksum(array: NDArray[Any], content: int | None = None) -> int:
    """Compute the CRC-32 of an array, type and shape included; `content` is that of its values."""
    known = zlib.crc32(np.ascontiguousarray(array).data) if content is None else content
    return zlib.crc32(f"{array.dtype.str} {array.shape}".encode(), known)


def describe_entry(
    folder: Path,
    kind: Kind,
    recordings: Sequence[CachedRecording],
    checksums: Mapping[str, int],
) -> bytes:
    """Return the content of ``windows.json`` for a folder whose arrays are written."""
    sizes = {name: _file(folder, name).stat().st_size for name in checksums}
    content = asdict(_Content(kind, tuple(recordings), sizes, dict(checksums)))
    return _json({"sha256": hashlib.sha256(_json(content)).hexdigest(), "content": content})


def read_entry(folder: Path) -> Entry:
    """Read an entry and compare its checksums, or raise one of `READ_ERRORS`."""
    content = _read_description(folder)
    arrays = {}
    for name, expected in content.checksums.items():
        arrays[name] = _load_array(folder, name)
        if checksum(arrays[name]) != expected:
            raise ValueError(f"{name}.npy does not have its checksum")
    return Entry(content.recordings, arrays)


def _load_array(folder: Path, name: str) -> NDArray[Any]:
    # Copy on write: writing into the windows never changes the file.
    mode: Literal["c"] | None = "c" if name == "x" else None
    path = _file(folder, name)
    try:
        with open_regular(path) as file:
            check_array(file, path, name, path.stat().st_size)
        array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    except OSError:
        raise
    # NumPy raises whatever its parser raises for a damaged header.
    except Exception as error:
        raise ValueError(f"{name}.npy cannot be read ({type(error).__name__})") from error
    return array


def load_entry(key: str, *, verify: bool = False) -> Entry | None:
    """Load an entry; warn and return None if it is damaged or, with `verify`, outdated."""
    folder = cache_folder() / key
    if not folder.is_dir():
        return None
    try:
        entry = read_entry(folder)
    except READ_ERRORS as error:
        _logger.warning("The cache entry %s is damaged and made again: %s.", folder, error)
        with suppress(OSError):
            _remove(folder)
        return None
    if verify and not is_current(entry.recordings):
        _logger.warning("The cache entry %s is outdated: a recording was replaced.", folder)
        _remove_entry(folder)
        return None
    return entry


def cache_entries() -> list[CacheEntry]:
    """List the entries, the newest first."""
    try:
        folders = _folders(_ENTRY)
    except OSError as error:
        raise DataError(
            f"cannot read the cache {cache_folder()}: {error.strerror}; set CADDA_CACHE to "
            "another folder."
        ) from error
    entries = []
    for folder in folders:
        try:
            n_bytes = sum(file.stat().st_size for file in folder.iterdir())
            made = datetime.fromtimestamp(folder.stat().st_mtime).astimezone()
        except OSError:
            # Another process is removing it.
            continue
        try:
            content = _read_description(folder)
            entry = CacheEntry(folder.name, n_bytes, made, content.kind, content.recordings)
        except READ_ERRORS:
            entry = CacheEntry(folder.name, n_bytes, made, None, ())
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry.made, reverse=True)


def clear_cache() -> list[CacheEntry]:
    """Remove every entry and what killed processes left; return the entries removed."""
    entries = cache_entries()
    for entry in entries:
        _remove_entry(cache_folder() / entry.key)
    remove_abandoned()
    return entries


def remove_outdated() -> list[CacheEntry]:
    """Remove damaged entries and those whose recordings have another content by now."""
    outdated = []
    for entry in cache_entries():
        folder = cache_folder() / entry.key
        if not is_whole(folder) or not is_current(entry.recordings):
            _remove_entry(folder)
            outdated.append(entry)
    return outdated


def draft_prefix(key: str) -> str:
    """Return the beginning of the name that an entry has while it is written."""
    return f".{key[:_DRAFT_LENGTH]}-"


def remove_abandoned() -> None:
    """Remove drafts of processes that were killed."""
    for folder in _folders(_DRAFT):
        try:
            latest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            is_old = time.time() - latest > _ABANDONED_SECONDS
            file = _file(folder, "x")
            # An empty file is new: its process locks it before the first byte.
            if is_old or (file.stat().st_size and is_abandoned(file)):
                _remove(folder)
        except OSError:
            # Another process is removing it.
            continue


def is_whole(folder: Path) -> bool:
    """Check that an entry is complete and undamaged."""
    try:
        read_entry(folder)
    except READ_ERRORS:
        return False
    return True


def _read_description(folder: Path) -> _Content:
    description = parse_json(read_bytes(folder / _DESCRIPTION))
    stored = description["content"]
    if description["sha256"] != hashlib.sha256(_json(stored)).hexdigest():
        raise ValueError(f"{_DESCRIPTION} was changed")
    content = TypeAdapter(_Content).validate_python(stored)
    for name, size in content.sizes.items():
        if _file(folder, name).stat().st_size != size:
            raise ValueError(f"{name}.npy does not have its size")
    return content


def _folders(name: re.Pattern[str]) -> list[Path]:
    """List our own folders only: the user may keep other things beside them."""
    root = cache_folder()
    if not root.exists():
        return []
    return [path for path in root.iterdir() if name.fullmatch(path.name) and path.is_dir()]


def _remove_entry(folder: Path) -> None:
    try:
        _remove(folder)
    except OSError as error:
        raise DataError(
            f"cannot remove {folder}: {error.strerror}; another program may be using it."
        ) from error


def _remove(folder: Path) -> None:
    for file in (folder / _DESCRIPTION, *folder.glob("*.npy")):
        file.unlink(missing_ok=True)
    folder.rmdir()


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.npy"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
