"""What is in the cache, and how it is emptied: only what is ours is ever removed."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cadda.data.io.cache import KEY_LENGTH, Run, cache_folder, read_runs
from cadda.exceptions import DataError

__all__ = ["CacheEntry", "cache_entries", "clear_cache", "draft_prefix", "remove_abandoned"]

_DRAFT_LENGTH = 12
_ENTRY = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}")
_DRAFT = re.compile(rf"\.[0-9a-f]{{{_DRAFT_LENGTH}}}-\w+")
_FILES = ("windows.json", "x.npy", "y.npy")

_ABANDONED_SECONDS = 3600.0
"""A draft that nobody wrote into for so long belongs to a process that was killed."""


@dataclass(frozen=True)
class CacheEntry:
    """What is known of an entry without loading it.

    Parameters
    ----------
    key : str
        Its name.
    n_bytes : int
        How much of the disk it takes.
    made : datetime
        When it was written.
    runs : tuple of Run | None
        The recordings that its windows come from; None if it is damaged and will not be used.
    """

    key: str
    n_bytes: int
    made: datetime
    runs: tuple[Run, ...] | None


def cache_entries() -> list[CacheEntry]:
    """List what is in the cache.

    Returns
    -------
    list of CacheEntry
        The entries, the newest first.
    """
    try:
        folders = _folders(_ENTRY)
    except OSError as error:
        raise DataError(
            f"the cache {cache_folder()} cannot be read: {error.strerror}; set CADDA_CACHE to "
            "another folder."
        ) from error
    found = []
    for folder in folders:
        try:
            n_bytes = sum(file.stat().st_size for file in folder.iterdir())
            made = datetime.fromtimestamp(folder.stat().st_mtime).astimezone()
        except OSError:
            # Another process is removing it.
            continue
        try:
            runs = tuple(read_runs(folder))
        except (OSError, ValueError, KeyError, TypeError):
            runs = None
        found.append(CacheEntry(folder.name, n_bytes, made, runs))
    return sorted(found, key=lambda one: one.made, reverse=True)


def clear_cache() -> list[CacheEntry]:
    """Remove every entry, and what killed processes left behind; nothing else in the folder.

    Returns
    -------
    list of CacheEntry
        What was removed.
    """
    entries = cache_entries()
    for entry in entries:
        try:
            _remove(cache_folder() / entry.key)
        except OSError as error:
            raise DataError(
                f"{cache_folder() / entry.key} cannot be removed: {error.strerror}; another "
                "program may be using it."
            ) from error
    remove_abandoned()
    return entries


def draft_prefix(key: str) -> str:
    """Give the beginning of the name that an entry has while it is written.

    Parameters
    ----------
    key : str
        The name that it will have.

    Returns
    -------
    str
        Such that no reader looks at it, and `remove_abandoned` knows it.
    """
    return f".{key[:_DRAFT_LENGTH]}-"


def remove_abandoned() -> None:
    """Remove what killed processes left behind."""
    for folder in _folders(_DRAFT):
        try:
            latest = max(one.stat().st_mtime for one in (folder, *folder.iterdir()))
            if time.time() - latest > _ABANDONED_SECONDS:
                _remove(folder)
        except OSError:
            # Another process is removing it.
            continue


def _folders(name: re.Pattern[str]) -> list[Path]:
    """Find what is ours: the folder may be one that the user has other things in."""
    root = cache_folder()
    if not root.exists():
        return []
    return [one for one in root.iterdir() if name.fullmatch(one.name) and one.is_dir()]


def _remove(folder: Path) -> None:
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    folder.rmdir()
