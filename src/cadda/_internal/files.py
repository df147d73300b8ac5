"""Writing files so that a reader finds the old one or the new one, never half of it.

What goes wrong with a path is said in a sentence, without the numbers of the system.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError

__all__ = ["make_folder", "replace_atomically", "write_text_atomically"]


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and those that it is in, if they are not there yet.

    Parameters
    ----------
    path : path-like
        The folder.

    Returns
    -------
    Path
        The folder.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = _obstacle(folder, error)
        raise CaddaError(f"the folder {folder} cannot be made: {reason}.") from error
    return folder


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
    try:
        # In the same folder, so that the last step is a rename within one file system.
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"
        )
    except FileNotFoundError as error:
        raise CaddaError(
            f"{target} cannot be written: the folder {target.parent} does not exist."
        ) from error
    except OSError as error:
        reason = _obstacle(target.parent, error)
        raise CaddaError(f"{target} cannot be written: {reason}.") from error
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


def _obstacle(path: Path, error: OSError) -> str:
    """Name the file that stands where a folder should be, if that is what is wrong."""
    in_the_way = [one for one in (path, *path.parents) if one.is_file()]
    return f"{in_the_way[0]} is a file" if in_the_way else short_reason(error)
