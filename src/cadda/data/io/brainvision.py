"""Marker files of BrainVision that cannot be read, or would be read wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cadda._internal.limits import MAX_TEXT, read_bytes
from cadda._internal.text import quote
from cadda.exceptions import DataError

__all__ = ["check_markers", "explained_markers"]

_MARKER_FILE = re.compile(r"^\s*MarkerFile\s*=\s*([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_MARKER = re.compile(r"Mk\d+=")
_NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?|nan|", re.IGNORECASE)
_DATE = re.compile(r"\d{8,}|")


@contextmanager
def explained_markers(header: Path) -> Iterator[None]:
    """Name the marker if a recording cannot be read because of a comma in its text."""
    try:
        yield
    except ValueError:
        check_markers(header)
        raise


def check_markers(header: Path) -> None:
    """Raise if the text of a marker has a comma; MNE may read a number after it as the onset."""
    if header.suffix.casefold() not in (".vhdr", ".ahdr"):
        return
    file = _marker_file(header)
    for number, line in enumerate(_lines(file), 1):
        if _MARKER.match(line) and not _is_healthy([part.strip() for part in line.split(",")]):
            raise DataError(
                f"{file}, line {number}: {quote(line.strip())} must be type, text, position, "
                "size, channel and date; a comma in the text must be written as \\1."
            )


def _is_healthy(fields: Sequence[str]) -> bool:
    """Check position, size, channel and date of a marker; all but the position may be missing."""
    position, size, channel, date, *more = [*fields[2:], "", "", "", ""]
    # Some programs write a word behind the date; a number there means a comma in the text.
    if any(part[:1].isdigit() for part in more):
        return False
    if not re.fullmatch(r"-?\d+", position) or not all(map(_NUMBER.fullmatch, (size, channel))):
        return False
    # Some programs write a date of 0. After a comma, channel and date are size and channel.
    return channel in ("", "0") or _DATE.fullmatch(date) is not None


def _marker_file(header: Path) -> Path:
    named = _MARKER_FILE.search("\n".join(_lines(header)))
    own = header.with_suffix(".vmrk")
    if named is None:
        return own
    file = header.parent / named[1].strip().replace("$b", header.stem)
    # As new versions of MNE do for recordings that were renamed.
    return file if file.exists() else own


def _lines(path: Path) -> list[str]:
    """Return the lines of a text, in any encoding; none if it cannot be read."""
    try:
        return read_bytes(path, MAX_TEXT).decode("latin-1").split("\n")
    except OSError:
        return []
