"""Writing files so that a reader finds the old one or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replace_atomically", "write_text_atomically"]


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under another name, and give it its own once it is whole and on the disk.

    Parameters
    ----------
    path : path-like
        Where the file shall be; its folder must exist.

    Yields
    ------
    Path
        Where to write it meanwhile.
    """
    target = Path(path)
    # In the same folder, so that the last step is a rename within one file system.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
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
    """Write a text file in one step.

    Parameters
    ----------
    path : path-like
        Where to write; its folder must exist.
    text : str
        The whole content.
    """
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
