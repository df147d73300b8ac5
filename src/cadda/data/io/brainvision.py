"""Marker files of BrainVision that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cadda._internal.limits import MAX_TEXT, read_bytes
from cadda._internal.text import quote
from cadda.exceptions import DataError

__all__ = ["explained_markers"]

_MARKER_FILE = re.compile(r"^\s*MarkerFile\s*=\s*([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_MARKER = re.compile(r"Mk\d+=[^,]*,[^,]*,\s*(?P<position>[^,]*)")


@contextmanager
def explained_markers(header: Path) -> Iterator[None]:
    """Name the marker if a recording cannot be read because of a comma in its text."""
    try:
        yield
    except ValueError as error:
        if header.suffix.casefold() not in (".vhdr", ".ahdr"):
            raise
        file = _marker_file(header)
        for number, line in enumerate(_lines(file), 1):
            marker = _MARKER.match(line)
            if marker and not marker["position"].strip().isdigit():
                raise DataError(
                    f"{file}, line {number}: {quote(line.strip())} has no position after the "
                    "text of the marker; a comma in the text must be written as \\1."
                ) from error
        raise


def _marker_file(header: Path) -> Path:
    named = _MARKER_FILE.search("\n".join(_lines(header)))
    name = f"{header.stem}.vmrk" if named is None else named[1].strip()
    return header.parent / name.replace("$b", header.stem)


def _lines(path: Path) -> list[str]:
    """Return the lines of a text, in any encoding; none if it cannot be read."""
    try:
        return read_bytes(path, MAX_TEXT).decode("latin-1").split("\n")
    except OSError:
        return []
