"""Limits of what is read from files, checked before memory is allocated for it.

A file of a stranger may announce more than it holds, expand to more than fits into memory, never
end, or nest so deep that parsers fail. Whatever is beyond a limit raises `LimitError`, an
`OSError` whose reason readers put into their own sentence, after the name of the file.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
import tomllib
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, TypeAlias

__all__ = [
    "MAX_CHANNELS",
    "MAX_CLASSES",
    "MAX_COUNT",
    "MAX_DEPTH",
    "MAX_ENTRIES",
    "MAX_GROWTH",
    "MAX_LINE",
    "MAX_RECORD",
    "MAX_SECONDS",
    "MAX_SEED",
    "MAX_SFREQ",
    "MAX_SIMULATED",
    "MAX_STAGES",
    "MAX_SUBPOLICIES",
    "MAX_TEXT",
    "MAX_WINDOWS",
    "MIN_SFREQ",
    "LimitError",
    "check_brackets",
    "check_depth",
    "check_gzip",
    "check_memory",
    "check_regular",
    "format_bytes",
    "open_regular",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "read_text",
]

MAX_TEXT = 1 << 24
"""Bytes of a file that people write: a policy, a mapping file, settings, a table."""

MAX_RECORD = 1 << 28
"""Bytes of a file of JSON that cadda writes, and of the arrays beside it."""

MAX_LINE = 1 << 24
"""Bytes of a line of JSON."""

MAX_DEPTH = 64
"""Nesting of JSON and TOML."""

MAX_COUNT = 1_000_000
"""Epochs, windows of a batch, trials and whatever else is counted in settings."""

MAX_SIMULATED = 10_000
"""Subjects that are simulated, and windows of each."""

MAX_CLASSES = 1_000
MAX_CHANNELS = 10_000
MAX_SUBPOLICIES = 10_000
MAX_STAGES = 100
MAX_ENTRIES = 1_000
"""Entries of a stage of a policy."""

MIN_SFREQ, MAX_SFREQ = 1e-3, 1e6
"""Sampling rates in Hz; the slowest are those of images, with a pixel per sample."""

MAX_SECONDS = 1e7
"""Length of a window in seconds, and its distance from an event: a hundred days."""

MAX_SEED = 2**63 - 1
"""The largest seed, positive or negative."""

MAX_WINDOWS = 10_000_000
"""Windows of a recording."""

MAX_GROWTH = 100
"""Bytes in memory for each byte on disk; signals are compressed less than tenfold."""

SMALL = 1 << 26
"""Bytes in memory that are never too many, however few there are on disk."""

_BLOCK = 1 << 16
_MAX_MEMBERS = 100_000  # of a gzip file; programs that make several have them of 64 kB
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKETS = b"[]{}"
_OTHERS = bytes(sorted(set(range(256)) - set(_BRACKETS)))

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

AnyPath: TypeAlias = str | os.PathLike[str]


class LimitError(OSError):
    """A file that is not read, for a reason that ends a sentence after its name."""

    def __init__(self, path: AnyPath, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, os.fspath(path))


def open_regular(path: AnyPath) -> io.BufferedReader:
    """Open a regular file; a pipe, whose reader would wait, or a device raises `LimitError`."""
    # Without waiting for the other end of a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except ValueError as error:
        raise LimitError(repr(path), "the name of a file cannot have a null character") from error
    try:
        _check_kind(path, os.fstat(handle))
        return open(handle, "rb")  # noqa: PTH123 (a descriptor, not a path)
    except BaseException:
        os.close(handle)
        raise


def check_regular(path: AnyPath, most: int | None = None) -> int:
    """Return the size of a regular file; raise if it is of another kind, or too large."""
    status = Path(path).stat()
    _check_kind(path, status)
    _check_size(path, status.st_size, most)
    return status.st_size


def read_bytes(path: AnyPath, most: int = MAX_RECORD) -> bytes:
    """Read a regular file of at most `most` bytes."""
    with open_regular(path) as file:
        _check_size(path, os.fstat(file.fileno()).st_size, most)
        # Some files of the system have another size than they say.
        content = file.read(most + 1)
    _check_size(path, len(content), most)
    return content


def read_text(path: AnyPath, most: int = MAX_TEXT, encoding: str = "utf-8") -> str:
    """Read a regular file of text with any ends of lines."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most)), encoding).read()


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; raise `ValueError` for one that is nested too deep."""
    check_brackets(text)
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(_too_deep()) from error
    has_halves = "\\ud" in text.lower() if isinstance(text, str) else b"\\ud" in text.lower()
    if has_halves:
        _check_characters(value)
    return value


def _check_characters(value: Any) -> None:
    """Raise `ValueError` for halves of characters, which no file can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"it has half of a character, {error.object[error.start]!a}") from error


def check_brackets(text: str | bytes) -> None:
    """Raise `ValueError` if JSON is nested too deep, without parsing it."""
    content = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _STRING.sub(b"", content).translate(None, _OTHERS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(_too_deep())


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise `ValueError` for one that is nested too deep."""
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(_too_deep()) from error
    check_depth(content)
    return content


def check_depth(value: Any) -> None:
    """Raise `ValueError` if lists and mappings are nested too deep."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for outer in level for item in _children(outer)]
        if not level:
            return
    raise ValueError(_too_deep())


def check_memory(path: AnyPath, stored: int, needed: int) -> None:
    """Raise if what a file of `stored` bytes announces needs far more memory, or all of it."""
    if needed > max(SMALL, MAX_GROWTH * stored):
        raise LimitError(
            path,
            f"it has {format_bytes(stored)}, but would take {format_bytes(needed)} in memory, "
            f"more than {MAX_GROWTH} times as much",
        )
    available = _machine_memory()
    if available is not None and needed > available:
        raise LimitError(
            path,
            f"it would take {format_bytes(needed)} in memory, and this machine has "
            f"{format_bytes(available)}",
        )


def check_gzip(path: AnyPath) -> int:
    """Decompress a file without keeping it, and return its size; raise if that is too large."""
    stored, total = check_regular(path), 0
    with open_regular(path) as file:
        for block in _decompressed(path, file):
            total += len(block)
            check_memory(path, stored, total)
    return total


def _decompressed(path: AnyPath, file: IO[bytes]) -> Iterable[bytes]:
    """Yield blocks of one or several gzip members; what follows the last one is ignored."""
    data, n_members = file.read(_BLOCK), 0
    while data[:2] == b"\x1f\x8b":
        n_members += 1
        if n_members > _MAX_MEMBERS:
            raise LimitError(path, f"it has more than {_MAX_MEMBERS} compressed parts")
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                yield member.decompress(data, _BLOCK)
            except zlib.error as error:
                raise LimitError(path, f"its compression is damaged ({error})") from error
            data = member.unconsumed_tail or (b"" if member.eof else file.read(_BLOCK))
            if not data and not member.eof:
                raise LimitError(path, "it is truncated")
        data = member.unused_data or file.read(_BLOCK)


def format_bytes(count: float) -> str:
    """Return a number of bytes such as ``12 MB``."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(int(math.log10(max(count, 1)) / 3), len(units) - 1)
    value = count / 1000**power
    return f"{value:.0f} {units[power]}" if 100 <= value < 1e6 else f"{value:.3g} {units[power]}"


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _too_deep() -> str:
    return f"it is nested deeper than {MAX_DEPTH} levels"


def _check_kind(path: AnyPath, status: os.stat_result) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise LimitError(path, f"it is {name}, not a file")


def _check_size(path: AnyPath, size: int, most: int | None) -> None:
    if most is not None and size > most:
        raise LimitError(
            path, f"it has {format_bytes(size)}, and at most {format_bytes(most)} are read"
        )


def _machine_memory() -> int | None:
    """Return the memory of the machine in bytes, None if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
