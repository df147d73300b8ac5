"""Label maps in the short form of a policy: what follows ``->``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from cadda._internal.text import did_you_mean
from cadda.exceptions import PolicyFileError
from cadda.operations.label_maps import check_mapping

__all__ = [
    "QUOTED",
    "MapResolver",
    "WrittenEntry",
    "format_map",
    "format_name",
    "read_name",
    "split_line",
]

QUOTED = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
"""A name in double quotes, as in JSON, or in single quotes, as Python prints it."""

_BREAK = re.compile(r"->|[>|#]")
_TARGET = re.compile(rf"(?:{QUOTED}|.*?)(?=\s+[pmw]=|\s*(?:->|[>|#]|$))")
_NAME = rf"{QUOTED}|[^\s,:{{}}\"'][^,:{{}}]*?"
_PAIR = re.compile(
    rf"\s*(?P<old>{_NAME})\s*:\s*(?P<new>{_NAME})\s*(?P<end>,\s*\}}|[,}}])",
)
_NEEDS_QUOTES = re.compile(r"[>|#{},:]|(?:^|\s)[pmw]=|^[\"']")

_EXAMPLE = "{left: right, right: left}"


@dataclass(frozen=True)
class WrittenEntry:
    """An entry of a stage as it was written, its words, and what follows its arrow, if any."""

    number: int
    """Number of its line."""
    text: str
    words: list[str]
    target: str | dict[str, str] | None


def split_line(line: str, number: int) -> list[list[WrittenEntry]]:
    """Split a line, without its weight, into stages and their entries; leave out a comment."""
    stages: list[list[WrittenEntry]] = [[]]
    start = position = 0
    words: list[str] = []
    target: str | dict[str, str] | None = None
    while True:
        found = _BREAK.search(line, position)
        end = found.start() if found else len(line)
        words += line[position:end].split()
        if found and found[0] == "->":
            if target is not None:
                raise PolicyFileError(
                    f"line {number}: `{line[start:].strip()}` must have one `->` per operation; "
                    "separate stages by `>`."
                )
            target, position = _read_target(line, found.end(), number)
            continue
        stages[-1].append(WrittenEntry(number, line[start:end].strip(), words, target))
        if not found or found[0] == "#":
            return stages
        if found[0] == ">":
            stages.append([])
        start = position = found.end()
        words, target = [], None


class MapResolver:
    """Turns what follows arrows into label maps, once the policies of all classes are read.

    Below ``[left]``, ``-> right`` says what this class becomes; all classes together say what the
    operation does.
    """

    def __init__(self, all_classes: str) -> None:
        self._all_classes = all_classes
        self._targets: dict[str, dict[str, str]] = {}
        self._entries: list[tuple[dict[str, JsonValue], dict[str, str], int]] = []
        self._written: list[tuple[str, int]] = []

    def add(
        self, entry: dict[str, JsonValue], target: str | dict[str, str], row: str, number: int
    ) -> None:
        """Remember the arrow of an entry, on a line of the policy of a class."""
        if isinstance(target, dict):
            self._entries.append((entry, target, number))
            self._written += [(name, number) for pair in target.items() for name in pair]
            return
        if row == self._all_classes:
            raise PolicyFileError(
                f"line {number}: `-> {target}` must say what every class becomes, such as "
                f"`-> {_EXAMPLE}`, or stand below the name of a class."
            )
        operation = str(entry["operation"])
        targets = self._targets.setdefault(operation, {})
        if targets.setdefault(row, target) != target:
            raise PolicyFileError(
                f"line {number}: `{row}` becomes both `{targets[row]}` and `{target}` by "
                f"{operation}; write the maps in full, such as `-> {_EXAMPLE}`."
            )
        self._entries.append((entry, targets, number))
        self._written.append((target, number))

    def resolve(self, class_names: Iterable[str]) -> None:
        """Complete all entries that have an arrow."""
        known = [name for name in class_names if name != self._all_classes]
        for name, number in self._written if known else ():
            if name not in known:
                raise PolicyFileError(
                    f"line {number}: a label map must name classes of the policy, {known}, "
                    f"got `{name}`{did_you_mean(name, known)}."
                )
        for entry, mapping, number in self._entries:
            try:
                check_mapping(mapping)
            except ValueError as error:
                message = f"line {number}: {entry['operation']}: {error}."
                raise PolicyFileError(message) from error
            entry["label_map"] = dict(mapping)


def format_map(mapping: Mapping[str, str]) -> str:
    """Return a label map as it is written after an arrow."""
    pairs = (f"{format_name(old)}: {format_name(new)}" for old, new in mapping.items())
    return "{" + ", ".join(pairs) + "}"


def format_name(name: str) -> str:
    """Return the name of a class, in quotes where it could be taken for something else."""
    return json.dumps(name, ensure_ascii=False) if _NEEDS_QUOTES.search(name) else name


def read_name(text: str, number: int) -> str:
    """Return the name of a class without the quotes that it may be written in."""
    if not re.fullmatch(QUOTED, text):
        return text
    # In single quotes, only \' is escaped where JSON has it as it is, and " the other way round.
    body = text[1:-1] if text[0] == '"' else re.sub(r'\\.|"', _escape_for_json, text[1:-1])
    try:
        name = str(json.loads(f'"{body}"'))
        name.encode()
    except ValueError as error:
        raise PolicyFileError(
            f"line {number}: {text} has an unknown escape sequence; write a backslash as `\\\\`."
        ) from error
    return name


def _escape_for_json(match: re.Match[str]) -> str:
    return {'"': r"\"", r"\'": "'"}.get(match[0], match[0])


def _read_target(line: str, position: int, number: int) -> tuple[str | dict[str, str], int]:
    """Read what follows an arrow: a class, or a map; return it and where it ends."""
    while line[position : position + 1].isspace():
        position += 1
    if line.startswith("{", position):
        return _read_map(line, position, number)
    match = _TARGET.match(line, position)
    written = "" if match is None else match[0]
    if match is None or not written or re.match("[pmw]=", written):
        raise PolicyFileError(
            f"line {number}: `->` must be followed by a class, or by a map such as `{_EXAMPLE}`."
        )
    if not re.fullmatch(QUOTED, written) and _NEEDS_QUOTES.search(written):
        raise PolicyFileError(
            f"line {number}: `-> {written}` must be one class, in quotes if its name has "
            f"punctuation, or pairs of classes in braces, such as `{_EXAMPLE}`."
        )
    return read_name(written, number), match.end()


def _read_map(line: str, start: int, number: int) -> tuple[dict[str, str], int]:
    """Read ``{left: right, right: left}``; names may be in quotes."""
    mapping: dict[str, str] = {}
    position, end = start + 1, ","
    while end == ",":
        pair = _PAIR.match(line, position)
        if pair is None:
            raise _bad_map(line[start:], number)
        old, new = (read_name(pair[side], number) for side in ("old", "new"))
        if old in mapping:
            raise PolicyFileError(
                f"line {number}: a label map must name each class once, got `{old}` twice."
            )
        mapping[old] = new
        position, end = pair.end(), pair["end"]
    return mapping, position


def _bad_map(text: str, number: int) -> PolicyFileError:
    inside, closing, _ = text.partition("}")
    if not closing:
        return PolicyFileError(
            f"line {number}: `{text}` lacks a closing brace; write a map on one line, such as "
            f"`{_EXAMPLE}`."
        )
    return PolicyFileError(
        f"line {number}: `{inside}}}` must be pairs of classes, such as `{_EXAMPLE}`, with names "
        "in quotes if they have punctuation."
    )
