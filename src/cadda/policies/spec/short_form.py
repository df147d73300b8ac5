"""The short form of a policy, which people read and write."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING

from pydantic import JsonValue

from cadda.exceptions import PolicyFileError
from cadda.policies.spec.arrows import (
    QUOTED,
    MapResolver,
    WrittenEntry,
    format_map,
    format_name,
    read_name,
    split_line,
)
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["SHORT_NAMES", "ShortForm", "format_text", "parse_short_form"]

SHORT_NAMES = {"probability": "p", "magnitude": "m", "min_magnitude": "m", "weight": "w"}
"""What the fields of a policy file are called in the short form."""

_FIELDS = {"p": "probability", "m": "magnitude", "w": "weight"}

# A class may have a # or a ] in its name.
_HEADER = re.compile(rf"\[(?P<name>\s*(?:{QUOTED})\s*|[^\]]*|.*)\]\s*(?:#.*)?")
_HEAD = re.compile(r"((?:(?!->|#)[^:])*):")
"""What is before the colon of a line, but not in a label map or a comment."""


@dataclass(frozen=True)
class _Line:
    """A subpolicy: the number of its line, and the text of each entry of its stages."""

    number: int
    stages: list[list[str]]


@dataclass(frozen=True)
class ShortForm:
    """A policy in short form, with the lines that its parts are on."""

    data: dict[str, JsonValue]
    """Data for `PolicySpec.from_dict`, not validated yet."""
    lines: dict[str, list[_Line]]
    """Subpolicies by class."""
    headers: dict[str, int]
    """Number of the line with the name of a class, by class."""

    def place(self, path: Sequence[int | str]) -> str:
        """Return where a value of the data is in the text, such as ``"line 3, stage 2"``."""
        match list(path):
            case ["class_names", int(k)]:
                name = list(self.lines)[k]
                return f"line {self.headers[name]}: `[{name}]`"
            case ["policy", str(row)]:
                first, last = self.lines[row][0].number, self.lines[row][-1].number
                return f"line {first}" if first == last else f"lines {first} to {last}"
            case ["policy", str(row), int(i), *rest]:
                return self._place_in_line(self.lines[row][i], rest)
            case _:
                return "the policy"

    def _place_in_line(self, line: _Line, path: Sequence[int | str]) -> str:
        match path:
            case ["weight"]:
                return f"line {line.number}: `w` before the colon"
            case ["stages", int(j)]:
                return f"line {line.number}, stage {j + 1}"
            case ["stages", int(j), int(k), *rest]:
                entry = f"`{line.stages[j][k]}`"
                short = SHORT_NAMES.get(str(rest[0])) if rest else None
                return f"line {line.number}: " + (f"`{short}` of {entry}" if short else entry)
            case _:
                return f"line {line.number}"


def parse_short_form(text: str) -> ShortForm:
    """Read the short form."""
    policy: dict[str, list[JsonValue]] = {}
    lines: dict[str, list[_Line]] = {}
    headers: dict[str, int] = {}
    current, maps = ALL_CLASSES, MapResolver(ALL_CLASSES)
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if line.startswith("["):
            current = _parse_header(line, number)
            if current in policy:
                raise PolicyFileError(f"line {number}: class `{current}` is there twice.")
            policy[current], lines[current], headers[current] = [], [], number
            if ALL_CLASSES in policy and len(policy) > 1:
                raise PolicyFileError(
                    f"line {number}: `[{current}]` must not be in one policy with lines for "
                    "all classes; put every line below the name of a class, or none."
                )
        elif line and not line.startswith("#"):
            subpolicy, written = _parse_subpolicy(line, number, current, maps)
            policy.setdefault(current, []).append(subpolicy)
            lines.setdefault(current, []).append(_Line(number, written))
    if not policy:
        raise PolicyFileError("the policy must have at least one line, such as `sign_flip p=0.5`.")
    for name, number in headers.items():
        if not policy[name]:
            raise PolicyFileError(
                f"line {number}: `[{name}]` must be followed by a line, such as `sign_flip p=0.5`."
            )
    maps.resolve(policy)
    class_names: JsonValue = None if ALL_CLASSES in policy else list(policy)
    return ShortForm({"policy": dict(policy), "class_names": class_names}, lines, headers)


def format_text(spec: PolicySpec) -> str:
    """Return the short form of a policy."""
    lines, short = [], _maps_by_row(spec)
    for row in spec.rows:
        if spec.is_classwise:
            lines.append(f"[{_format_header(row)}]")
        lines += [_format_subpolicy(subpolicy, row, short) for subpolicy in spec.policy[row]]
    return "\n".join(lines) + "\n"


def _maps_by_row(spec: PolicySpec) -> set[str]:
    """Return operations with one label map, whose rows are exactly the classes that it names."""
    maps: dict[str, list[Mapping[str, str]]] = {}
    rows: dict[str, set[str]] = {}
    for row in spec.rows if spec.is_classwise else ():
        stages = (stage for subpolicy in spec.policy[row] for stage in subpolicy.stages)
        for entry in (entry for stage in stages for entry in stage):
            if entry.label_map is not None:
                maps.setdefault(entry.operation, []).append(entry.label_map)
                rows.setdefault(entry.operation, set()).add(row)
    return {
        operation
        for operation, mappings in maps.items()
        if all(mapping == mappings[0] for mapping in mappings)
        and rows[operation] == set(mappings[0])
    }


def _parse_header(line: str, number: int) -> str:
    """Return the class that a line such as ``[N2]`` names."""
    header = _HEADER.fullmatch(line)
    if header is None:
        raise PolicyFileError(
            f"line {number}: `{line}` must be a class in brackets on a line of its own, such as "
            "`[N2]`."
        )
    return read_name(header["name"].strip(), number)


def _format_header(name: str) -> str:
    is_quoted = "]" in name or name.startswith(('"', "'"))
    return dumps(name, ensure_ascii=False) if is_quoted else name


def _parse_subpolicy(
    line: str, number: int, row: str, maps: MapResolver
) -> tuple[JsonValue, list[list[str]]]:
    """Return a subpolicy of a class, and the text of each entry of its stages."""
    subpolicy: dict[str, JsonValue] = {}
    if head := _HEAD.match(line):
        key, _, value = head[1].partition("=")
        if key.strip() != "w":
            raise PolicyFileError(
                f"line {number}: only `w=…` may come before a colon, got `{head[1].strip()}`."
            )
        subpolicy["weight"] = _number(value, number)
        line = line[head.end() :]
    stages = split_line(line, number)
    subpolicy["stages"] = [
        [_parse_entry(entry, number, row, maps) for entry in stage] for stage in stages
    ]
    return subpolicy, [[entry.text for entry in stage] for stage in stages]


def _parse_entry(written: WrittenEntry, number: int, row: str, maps: MapResolver) -> JsonValue:
    if not written.words:
        place = "beside `>` or `|`" if written.target is None else "before `->`"
        raise PolicyFileError(f"line {number}: an operation is missing {place}.")
    entry: dict[str, JsonValue] = {"operation": written.words[0]}
    for word in written.words[1:]:
        key, _, value = word.partition("=")
        if key not in _FIELDS:
            raise PolicyFileError(
                f"line {number}: `{word}` must be p=, m= or w= with a number, such as p=0.5, "
                "or follow `->`."
            )
        if key == "m" and ".." in value:
            least, _, value = value.partition("..")
            entry["min_magnitude"] = _number(least, number)
        entry[_FIELDS[key]] = _number(value, number)
    if written.target is not None:
        maps.add(entry, written.target, row, number)
    return entry


def _number(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        problem = f"`{text}` must be a number" if text else "a number is missing after `=` or `..`"
        raise PolicyFileError(f"line {number}: {problem}.") from error


def _format_subpolicy(subpolicy: Subpolicy, row: str, short: Collection[str]) -> str:
    weight = "" if subpolicy.weight == 1 else f"w={subpolicy.weight!r}: "
    stages = (
        " | ".join(_format_entry(entry, row, short) for entry in stage)
        for stage in subpolicy.stages
    )
    return weight + " > ".join(stages)


def _format_entry(entry: StageEntry, row: str, short: Collection[str]) -> str:
    words = [entry.operation, f"p={entry.probability!r}"]
    if entry.magnitude is not None:
        least = "" if entry.min_magnitude is None else f"{entry.min_magnitude!r}.."
        words.append(f"m={least}{entry.magnitude!r}")
    if entry.weight != 1:
        words.append(f"w={entry.weight!r}")
    if entry.label_map is not None:
        by_row = entry.operation in short
        written = format_name(entry.label_map[row]) if by_row else format_map(entry.label_map)
        words.append(f"-> {written}")
    return " ".join(words)
