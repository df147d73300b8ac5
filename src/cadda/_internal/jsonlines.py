"""Append-only files with one JSON object per line."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from pydantic import JsonValue

from cadda._internal.files import write_text_atomically
from cadda._internal.limits import MAX_LINE, open_regular, parse_json
from cadda._internal.text import quote, short_reason
from cadda.exceptions import RunError

__all__ = ["JsonLines", "JsonObject"]

JsonObject = dict[str, JsonValue]

_NAME = b', "crc32": "'
CHECKSUM_LENGTH = len(', "crc32": "00000000"}')
"""Bytes at the end of a line that has one."""

BLOCK = 4096
"""Bytes that are read at once, from the end of the file, to find its last line break."""


class JsonLines:
    """JSON objects that one process appends to a file and any process may read.

    A process killed while writing leaves an incomplete last line. Readers ignore it, and the next
    `append` removes it. Each line ends with its checksum, so that readers notice a changed one.
    Lines without, such as those of other programs, are read as they are up to the first with one.
    """

    def __init__(self, path: Path, *, allow_nan: bool = False) -> None:
        self.path = path
        self.allow_nan = allow_nan

    def read(self) -> list[JsonObject]:
        """Return all complete lines; an absent file has none."""
        return list(self)

    def __iter__(self) -> Iterator[JsonObject]:
        """Yield one complete line after the other, so that a long file takes little memory."""
        has_checksums = False
        try:
            with open_regular(self.path) as file:
                for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), start=1):
                    if line.endswith(b"\n"):
                        has_checksums |= _NAME in line
                        yield self._parse(line[:-1], number, has_checksum=has_checksums)
                    elif len(line) == MAX_LINE:
                        raise RunError(
                            f"{self.path}, line {number}, is longer than {MAX_LINE >> 20} MiB; "
                            "remove the line, or choose another folder."
                        )
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"cannot read {self.path}: {short_reason(error)}.") from error

    def append(self, record: Mapping[str, object]) -> None:
        """Add a line; it is on the disk when this returns."""
        line = self._line(record).encode()
        try:
            with self.path.open("a+b") as file:
                _remove_incomplete_line(file)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {short_reason(error)}.") from error

    def rewrite(self, records: Iterable[Mapping[str, object]]) -> None:
        """Replace the content of the file."""
        write_text_atomically(self.path, "".join(map(self._line, records)))

    def _line(self, record: Mapping[str, object]) -> str:
        text = json.dumps(record, ensure_ascii=False, allow_nan=self.allow_nan)
        return f"{text[:-1]}{_checksum(text.encode())}\n" if record else f"{text}\n"

    def _parse(self, line: bytes, number: int, *, has_checksum: bool) -> JsonObject:
        if has_checksum and line != b"{}":
            content, written = line[:-CHECKSUM_LENGTH] + b"}", line[-CHECKSUM_LENGTH:]
            if _checksum(content).encode() != written:
                raise RunError(
                    f"{self.path}, line {number}, was changed or damaged: it does not have its "
                    "checksum; remove the line, or choose another folder."
                )
            line = content
        try:
            record = parse_json(line)
        except ValueError as error:
            raise RunError(
                f"{self.path}, line {number}, is not JSON ({short_reason(error)}); remove the "
                "line, or choose another folder."
            ) from error
        if not isinstance(record, dict):
            raise RunError(
                f"{self.path}, line {number}, must be a JSON object, got "
                f"{quote(line.decode('utf-8', 'replace'))}; "
                "remove the line, or choose another folder."
            )
        return record


def _checksum(content: bytes) -> str:
    """Return the last entry of a line with some content."""
    return f', "crc32": "{zlib.crc32(content):08x}"}}'


def _remove_incomplete_line(file: BinaryIO) -> None:
    """Truncate a file after its last line break; only its end is read."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        last = file.read(end - start).rfind(b"\n")
        if last >= 0:
            end = start + last + 1
            break
        end = start
    if end < size:
        file.truncate(end)
