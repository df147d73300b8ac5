"""Writing files so that a reader finds the old one or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_text_atomically"]


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step.

    Parameters
    ----------
    path : path-like
        Where to write; its folder must exist.
    text : str
        The whole content.
    """
    target = Path(path)
    # In the same folder, so that the last step is a rename within one file system.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
