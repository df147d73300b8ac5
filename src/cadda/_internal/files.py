"""Atomic writing, and dataclasses that save and load themselves.

A reader finds the old file or the new one, never half of it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import TypeAdapter

from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError

__all__ = [
    "ArrayRecord",
    "JsonRecord",
    "make_folder",
    "replace_atomically",
    "write_text_atomically",
]


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and its parents, if they do not exist."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = _obstacle(folder, error)
        raise CaddaError(f"cannot create folder {folder}: {reason}.") from error
    return folder


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` once it is written and synced."""
    target = Path(path)
    try:
        # In the same folder, so that the last step is a rename within one file system.
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"
        )
    except FileNotFoundError as error:
        raise CaddaError(
            f"cannot write {target}: the folder {target.parent} does not exist."
        ) from error
    except OSError as error:
        reason = _obstacle(target.parent, error)
        raise CaddaError(f"cannot write {target}: {reason}.") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically."""
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


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
        return TypeAdapter(cls).validate_json(path.read_bytes())


class ArrayRecord:
    """Base of dataclasses of arrays, saved as npz; fields that are None are left out."""

    def save(self, path: Path) -> None:
        """Write the arrays."""
        arrays = {name: value for name, value in vars(self).items() if value is not None}
        with replace_atomically(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read arrays that were saved."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**file)


def _obstacle(path: Path, error: OSError) -> str:
    """Return the reason of an error, which may be a file in place of a folder."""
    in_the_way = [parent for parent in (path, *path.parents) if parent.is_file()]
    return f"{in_the_way[0]} is a file" if in_the_way else short_reason(error)
