"""The lock of a folder that one process at a time may write to."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from cadda._internal.files import is_temporary, make_folder, remove_temporary
from cadda._internal.limits import check_regular
from cadda._internal.locks import try_lock
from cadda._internal.text import short_reason
from cadda.exceptions import RunError

__all__ = ["is_empty", "locked"]

MAX_OWNER = 500
"""Bytes that are read of a lock."""

LOCK = ".lock"
"""Name of the lock; its content is the process and the host of the owner."""


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Make a folder and lock it; raise if another process works on `what` in it.

    Temporary files of a killed owner are removed, and so is a folder in which nothing was written.
    """
    is_new = not folder.exists()
    path = make_folder(folder) / LOCK
    try:
        file = _open_locked(path, what)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}".encode())
        file.flush()
    except OSError as error:
        raise RunError(f"cannot write {path}: {short_reason(error)}.") from error
    with file:
        remove_temporary(folder)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)
                if is_new:
                    folder.rmdir()


def is_empty(folder: Path, *ignored: Path) -> bool:
    """Check that a folder has no files but those that a killed process leaves."""
    files = (path for path in folder.iterdir() if path not in ignored)
    return all(path.name == LOCK or is_temporary(path) for path in files)


def _open_locked(path: Path, what: str) -> IO[bytes]:
    """Open the lock of a folder and lock it; the last owner may have ended without removing it."""
    if path.exists():
        check_regular(path)
    while True:
        file = path.open("ab+")
        file.seek(0)
        owner = file.read(MAX_OWNER).decode("utf-8", "replace")
        is_ours = try_lock(file)
        if is_ours is False or (is_ours is None and _may_be_running(owner)):
            file.close()
            raise RunError(
                f"{path.parent} is in use: {owner or 'another process'} is writing the {what}; "
                f"wait for it, choose another folder, or delete {path} if it has ended."
            )
        if _is_at(path, file):
            return file
        # The owner has removed it before this process got it.
        file.close()


def _may_be_running(owner: str) -> bool:
    """Check whether a process exists; on other hosts this is unknown."""
    words = owner.split()
    if len(words) != 4 or not words[1].isdigit():
        return False
    if words[3] != platform.node():
        return True
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return int(words[1]) != os.getpid()


def _is_at(path: Path, file: IO[bytes]) -> bool:
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False
