"""Reading the short form of a policy, which people write."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from json import JSONDecodeError, loads

from pydantic import JsonValue

from cadda.exceptions import PolicyFileError
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.arrows import (
    QUOTED,
    MapResolver,
    WrittenEntry,
    read_name,
    split_line,
)
from cadda.policies.spec.entries import ALL_CLASSES

__all__ = ["SHORT_NAMES", "ShortForm", "parse_short_form"]

SHORT_NAMES = {"probability": "p", "magnitude": "m", "min_magnitude": "m", "weight": "w"}
"""What the fields of a policy file are called in the short form."""

_FIELDS = {"p": "probability", "m": "magnitude", "w": "weight"}

# A class may have a # or a ] in its name.
_HEADER = re.compile(rf"\[(?P<name>\s*(?:{QUOTED})\s*|[^\]]*|.*)\]\s*(?:#.*)?")
_NONE = re.compile(r"none\s*(?:#.*)?")
_SIMPLIFIED = re.compile(r"#.*\bsimplified, at a total variation distance of (\d\.\d{3})")
_ROUNDING = 0.0005
"""Largest error of the distance in that comment."""

_HEAD = re.compile(r"((?:(?!->|#)[^:])*):")
"""What is before the colon of a line, but not in a label map or a comment."""


@dataclass(frozen=True)
class _Entry:
    """An entry of a stage as data, the number of its line, its text, settings of its operation."""

    data: dict[str, JsonValue]
    number: int
    text: str
    settings: dict[str, JsonValue]


@dataclass(frozen=True)
class _Line:
    """A subpolicy, and the number of its first line."""

    number: int
    weight: float | None
    stages: list[list[_Entry]]

    def as_data(self) -> JsonValue:
        stages: JsonValue = [[entry.data for entry in stage] for stage in self.stages]
        return {"stages": stages} | ({} if self.weight is None else {"weight": self.weight})


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
                return f"line {line.stages[j][0].number}, stage {j + 1}"
            case ["stages", int(j), int(k), *rest]:
                entry = line.stages[j][k]
                short = SHORT_NAMES.get(str(rest[0])) if rest else None
                field = f"`{short}` of " if short else ""
                return f"line {entry.number}: {field}`{entry.text}`"
            case _:
                return f"line {line.number}"


def parse_short_form(text: str) -> ShortForm:
    """Read the short form."""
    reader = _Reader()
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if comment := _SIMPLIFIED.fullmatch(line):
            reader.simplified = float(comment[1]) + _ROUNDING
        if line and not line.startswith("#"):
            reader.read_line(number, line)
    return reader.finish()


class _Reader:
    """Reads a policy, a line at a time."""

    def __init__(self) -> None:
        self.lines: dict[str, list[_Line]] = {}
        self.headers: dict[str, int] = {}
        self.none: dict[str, int] = {}
        self.simplified: float | None = None
        self.current = ALL_CLASSES
        self.maps = MapResolver(ALL_CLASSES)

    def read_line(self, number: int, line: str) -> None:
        """Read a line that is neither empty nor a comment."""
        if line.startswith("["):
            self._start_class(_parse_header(line, number), number)
        elif line.startswith((">", "|")):
            self._continue_line(line, number)
        elif _NONE.fullmatch(line):
            self._leave_class(number)
        else:
            self._add_subpolicy(line, number)

    def _start_class(self, name: str, number: int) -> None:
        if name in self.lines:
            raise PolicyFileError(f"line {number}: class `{name}` is there twice.")
        self.current, self.lines[name], self.headers[name] = name, [], number
        if ALL_CLASSES in self.lines and len(self.lines) > 1:
            raise PolicyFileError(
                f"line {number}: `[{name}]` must not be in one policy with lines for "
                "all classes; put every line below the name of a class, or none."
            )

    def _leave_class(self, number: int) -> None:
        if self.lines.setdefault(self.current, []) or self.current in self.none:
            raise PolicyFileError(f"line {number}: `none` must not follow another line.")
        self.none[self.current] = number

    def _add_subpolicy(self, line: str, number: int) -> None:
        if self.current in self.none:
            raise PolicyFileError(
                f"line {number}: no line must follow `none`, which is in line "
                f"{self.none[self.current]}."
            )
        weight = None
        if head := _HEAD.match(line):
            weight = _parse_weight(head[1], number)
            line = line[head.end() :]
        stages = self._parse_stages(line, number)
        self.lines.setdefault(self.current, []).append(_Line(number, weight, stages))

    def _continue_line(self, line: str, number: int) -> None:
        if not self.lines.get(self.current):
            raise PolicyFileError(f"line {number}: `{line[0]}` must follow an operation.")
        stages = self.lines[self.current][-1].stages
        more = self._parse_stages(line[1:], number)
        if line.startswith("|"):
            stages[-1].extend(more.pop(0))
        stages.extend(more)

    def _parse_stages(self, line: str, number: int) -> list[list[_Entry]]:
        return [
            [_parse_entry(entry, self.current, self.maps) for entry in stage]
            for stage in split_line(line, number)
        ]

    def finish(self) -> ShortForm:
        """Return what was read, with complete label maps."""
        if not self.lines:
            raise PolicyFileError(
                "the policy must have at least one line, such as `sign_flip p=0.5`."
            )
        for name, number in self.headers.items():
            if not self.lines[name] and name not in self.none:
                raise PolicyFileError(
                    f"line {number}: `[{name}]` must be followed by a line, such as `sign_flip "
                    "p=0.5` or `none`."
                )
        self.maps.resolve(self.lines)
        class_names: JsonValue = None if ALL_CLASSES in self.lines else list(self.lines)
        policy: JsonValue = {
            row: [line.as_data() for line in lines] for row, lines in self.lines.items()
        }
        data: dict[str, JsonValue] = {"policy": policy, "class_names": class_names}
        if self.simplified is not None:
            data["provenance"] = {"simplified": self.simplified}
        operations = self._settings()
        if any(operations.values()):
            data["operations"] = operations
        return ShortForm(data, self.lines, self.headers)

    def _settings(self) -> dict[str, JsonValue]:
        """Return the settings of each operation, which must be the same wherever it is used."""
        found: dict[str, JsonValue] = {}
        for entry in (
            entry
            for lines in self.lines.values()
            for line in lines
            for stage in line.stages
            for entry in stage
        ):
            name = str(entry.data["operation"])
            known = found.setdefault(name, {})
            if not entry.settings or known == entry.settings:
                continue
            if known:
                raise PolicyFileError(
                    f"line {entry.number}: the settings of `{name}` must be the same in all of a "
                    f"policy, got {entry.settings} after {known}."
                )
            found[name] = entry.settings
        return found


def _parse_header(line: str, number: int) -> str:
    """Return the class that a line such as ``[N2]`` names."""
    header = _HEADER.fullmatch(line)
    if header is None:
        raise PolicyFileError(
            f"line {number}: `{line}` must be a class in brackets on a line of its own, such as "
            "`[N2]`."
        )
    return read_name(header["name"].strip(), number)


def _parse_weight(head: str, number: int) -> float:
    """Return the weight that is before the colon of a line."""
    key, _, value = head.partition("=")
    if key.strip() != "w":
        raise PolicyFileError(
            f"line {number}: only `w=…` may come before a colon, got `{head.strip()}`."
        )
    return _number(value, number)


def _parse_entry(written: WrittenEntry, row: str, maps: MapResolver) -> _Entry:
    number = written.number
    if not written.words:
        place = "beside `>` or `|`" if written.target is None else "before `->`"
        raise PolicyFileError(f"line {number}: an operation is missing {place}.")
    operation = written.words[0]
    entry: dict[str, JsonValue] = {"operation": operation}
    settings: dict[str, JsonValue] = {}
    for word in written.words[1:]:
        key, _, value = word.partition("=")
        if key in _settings_of(operation) and value:
            settings[key] = _setting(value)
            continue
        if key not in _FIELDS:
            known = ", ".join(f"{name}=" for name in _settings_of(operation))
            raise PolicyFileError(
                f"line {number}: `{word}` must be p=, m= or w= with a number, such as p=0.5, "
                f"{f'a setting of {operation} ({known}) ' if known else ''}or follow `->`."
            )
        if key == "m" and ".." in value:
            least, _, value = value.partition("..")
            entry["min_magnitude"] = _number(least, number)
        entry[_FIELDS[key]] = _number(value, number)
    if written.target is not None:
        maps.add(entry, written.target, row, number)
    return _Entry(entry, number, written.text, settings)


def _settings_of(operation: str) -> Collection[str]:
    """Return the names of the settings of an operation of cadda."""
    row = CATALOGUE.get(operation)
    return () if row is None else row.default_settings


def _setting(text: str) -> JsonValue:
    """Return the value of a setting: true or false, a number, or else text."""
    try:
        value: JsonValue = loads(text)
    except JSONDecodeError:
        return text
    return value


def _number(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        problem = f"`{text}` must be a number" if text else "a number is missing after `=` or `..`"
        raise PolicyFileError(f"line {number}: {problem}.") from error
