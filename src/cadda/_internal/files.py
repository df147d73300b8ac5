"""Atomic writing, and dataclasses that save and load themselves.

A reader finds the old file or the new one, never half of it.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

import numpy as np
from pydantic import TypeAdapter

from cadda._internal.archives import load_arrays
from cadda._internal.limits import open_regular, parse_json, read_bytes
from cadda._internal.locks import is_abandoned, try_lock
from cadda._internal.signals import signals_deferred
from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError

__all__ = [
    "ArrayRecord",
    "JsonRecord",
    "is_temporary",
    "make_folder",
    "remove_temporary",
    "replace_atomically",
    "write_bytes_atomically",
    "write_text_atomically",
]

_TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.tmp")
"""Names that `mkstemp` makes for `replace_atomically`."""

FIELDS = "fields"
"""Name of an array with the names of the others: a damaged list of files may lack some."""


def make_folder(path: str | os.PathLike[str], *, parents: bool = True) -> Path:
    """Create a folder and its parents, if they do not exist.

    Without its parents, a folder that a user has deleted meanwhile is not made again.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        reason = _obstacle(folder, error)
        raise CaddaError(f"cannot create folder {folder}: {reason}.") from error
    return folder


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces ``path`` once it is written and synced.

    It is locked as long as this process lives: the next writer removes those of killed processes.
    """
    target = Path(path)
    try:
        temporary, file = _open_temporary(target)
    except FileNotFoundError as error:
        raise CaddaError(
            f"cannot write {target}: the folder {target.parent} does not exist."
        ) from error
    except OSError as error:
        reason = _obstacle(target.parent, error)
        raise CaddaError(f"cannot write {target}: {reason}.") from error
    except ValueError as error:
        raise CaddaError(
            f"cannot write {target}: the name of a file cannot have a null character."
        ) from error
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        file.close()
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        _discard(temporary, file)
        raise CaddaError(f"cannot write {target}: {short_reason(error)}.") from error
    except BaseException:
        _discard(temporary, file)
        raise


def write_bytes_atomically(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file atomically; Ctrl-C and SIGTERM wait until it is written."""
    with signals_deferred(), replace_atomically(path) as file:
        file.write(content)


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically."""
    write_bytes_atomically(path, text.encode())


def remove_temporary(folder: Path, name: str | None = None) -> None:
    """Remove temporary files that killed processes have left in a folder, all or for one name."""
    with suppress(OSError):
        for path in folder.iterdir():
            match = _TEMPORARY.fullmatch(path.name)
            if match and (name is None or match[1] == name) and is_abandoned(path):
                path.unlink(missing_ok=True)


def is_temporary(path: Path) -> bool:
    """Check whether a file is a temporary one of `replace_atomically`."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _open_temporary(target: Path) -> tuple[Path, IO[bytes]]:
    remove_temporary(target.parent, target.name)
    # In the same folder, so that the last step is a rename within one file system.
    prefix = f".{target.name}."
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".tmp")
    file = os.fdopen(handle, "wb")
    try_lock(file)
    return Path(name), file


def _discard(temporary: Path, file: IO[bytes]) -> None:
    for remove in (file.close, temporary.unlink):
        with suppress(OSError):
            remove()


class JsonRecord:
    """Base of dataclasses of plain values, saved as JSON and validated when loaded."""

    def to_json(self) -> str:
        """Return the record as JSON."""
        return TypeAdapter(type(self)).dump_json(self, indent=1).decode()

    def save(self, path: Path) -> None:
        """Write the record as JSON."""
        write_text_atomically(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record that was saved."""
        return TypeAdapter(cls).validate_python(parse_json(read_bytes(path)))


class ArrayRecord:
    """Base of dataclasses of arrays, saved as npz; fields that are None are left out."""

    def save(self, path: Path) -> None:
        """Write the arrays."""
        arrays = {name: value for name, value in vars(self).items() if value is not None}
        content = io.BytesIO()
        np.savez_compressed(content, allow_pickle=False, **{FIELDS: list(arrays)}, **arrays)
        write_bytes_atomically(path, content.getbuffer())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read arrays that were saved, with their checksums."""
        try:
            with open_regular(path) as file:
                arrays = load_arrays(file, path)
            if list(arrays.pop(FIELDS)) != list(arrays):
                raise ValueError("an array is missing")
            return cls(**arrays)
        except OSError:
            raise
        # A damaged archive raises whatever zip files, compression and NumPy raise.
        except Exception as error:
            raise CaddaError(
                f"{path} is damaged or of another version of cadda ({type(error).__name__})."
            ) from error


def _obstacle(path: Path, error: OSError) -> str:
    """Return the reason of an error, which may be a file in place of a folder."""
    in_the_way = [parent for parent in (path, *path.parents) if parent.is_file()]
    return f"{in_the_way[0]} is a file" if in_the_way else short_reason(error)
