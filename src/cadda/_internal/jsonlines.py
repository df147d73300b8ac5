"""A file of results that are appended as they come, a line of JSON each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cadda._internal.text import short_reason
from cadda.exceptions import RunError

__all__ = ["ResultsFile"]


class ResultsFile:
    """Lines of JSON that one process appends to, and any may read.

    A process that is killed while it writes leaves half a line. Readers do not see it, and the
    next one who writes removes it.

    Parameters
    ----------
    path : Path
        The file; it need not exist, but its folder must once something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """Read every whole result.

        Returns
        -------
        list of dict
            In the order in which they came; empty if there is no file.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RunError(f"{self.path} cannot be read: {short_reason(error)}.") from error
        *whole, _ = content.split(b"\n")
        return [self._parse(line, number) for number, line in enumerate(whole, start=1)]

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one more result, so that it is on the disk when this returns.

        Parameters
        ----------
        record : mapping of str to object
            The result: anything that JSON can hold.
        """
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            _remove_half_line(self.path)
            with self.path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {short_reason(error)}.") from error

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RunError(
                f"{self.path}, line {number}, is not a result ({short_reason(error)}); remove the "
                "line, or choose another folder."
            ) from error
        if not isinstance(record, dict):
            raise RunError(
                f"{self.path}, line {number}, must be a JSON object, got {line.decode()!r}; "
                "remove the line, or choose another folder."
            )
        return record


def _remove_half_line(path: Path) -> None:
    content = path.read_bytes() if path.exists() else b""
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
