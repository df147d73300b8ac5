"""Locks that end with the process that holds them, and what killed processes have left."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["is_abandoned", "temporary_folder", "try_lock"]

_PREFIX = "cadda-workers-"


def try_lock(file: IO[bytes]) -> bool | None:
    """Lock an open file until it is closed or the process ends, and return whether that worked.

    Returns False if another process has locked it, None if the file system has no locks.
    """
    try:
        _lock_file(file.fileno())
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def is_abandoned(path: Path) -> bool:
    """Check that the process that locked a file while it wrote it has ended."""
    try:
        with path.open("rb+") as file:
            return try_lock(file) is True
    except OSError:
        return False


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder in the system's folder for temporary files, and remove it.

    Folders of processes that were killed are removed as well.
    """
    root = Path(tempfile.gettempdir())
    for lock in root.glob(f"{_PREFIX}*.lock"):
        if is_abandoned(lock):
            _remove_temporary(lock)
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=".lock")
    lock = Path(name)
    with os.fdopen(handle, "rb+") as file:
        try_lock(file)
        folder = _folder_of(lock)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            _remove_temporary(lock)


def _remove_temporary(lock: Path) -> None:
    shutil.rmtree(_folder_of(lock), ignore_errors=True)
    with suppress(OSError):
        lock.unlink()


def _folder_of(lock: Path) -> Path:
    return lock.with_suffix("")


if sys.platform == "win32":
    import msvcrt

    def _lock_file(descriptor: int) -> None:
        # Beyond the content, which others may read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_file(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
