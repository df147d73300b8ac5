"""Policies as text: policy files in JSON, and the short form that people read and write.

Errors name the place, in the words of what was given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, ValidationError

from cadda._internal.text import describe_error, did_you_mean, python_place, short_reason
from cadda.exceptions import PolicyFileError
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.arrows import (
    QUOTED,
    MapResolver,
    WrittenEntry,
    format_map,
    format_name,
    read_name,
    split_line,
)

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec, StageEntry, Subpolicy

__all__ = [
    "ALL_CLASSES",
    "OWN_OPERATIONS",
    "check_known",
    "format_text",
    "load_spec",
    "parse_json",
    "parse_text",
    "readable_json",
    "unique_keys",
]

MAX_BYTES = 100_000_000
LINE_WIDTH = 110
MAX_QUOTED = 60

Spec = TypeVar("Spec", bound="PolicySpec")

ALL_CLASSES = "*"
"""Stands for every class in the policy of a class-agnostic spec."""

OWN_OPERATIONS = "; list operations of your own in `known`"

_SHORT_NAMES = {"probability": "p", "magnitude": "m", "weight": "w"}
"""What the fields of a policy file are called in the short form."""

_FIELDS = {short: field for field, short in _SHORT_NAMES.items()}

# A class may have a # or a ] in its name.
_HEADER = re.compile(rf"\[(?P<name>\s*(?:{QUOTED})\s*|[^\]]*|.*)\]\s*(?:#.*)?")
_HEAD = re.compile(r"((?:(?!->|#)[^:])*):")
"""What is before the colon of a line, but not in a label map or a comment."""


def load_spec(
    kind: type[Spec], path: str | os.PathLike[str], known: Collection[str] | None
) -> Spec:
    """Read a policy file."""
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise PolicyFileError(
                f"{file} is too large for a policy file: it has {size / 1e6:.0f} MB, "
                f"at most {MAX_BYTES / 1e6:.0f} MB are read."
            )
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        _check_not_text(kind, os.fspath(path))
        raise PolicyFileError(f"{file} cannot be read: {short_reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise PolicyFileError(f"{file} is not a policy file: it is not text.") from error
    try:
        return (parse_text if file.suffix == ".txt" else parse_json)(kind, text, known)
    except PolicyFileError as error:
        raise PolicyFileError(f"{file}: {error}") from error.__cause__


def parse_json(kind: type[Spec], text: str, known: Collection[str] | None) -> Spec:
    """Validate the content of a policy file."""
    spec = _validated(kind, text, known, None)
    loads(text, object_pairs_hook=unique_keys)
    return spec


def unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Make a dict of a JSON object; JSON readers would silently take the last of equal keys."""
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise PolicyFileError(
            f"an object must have each key once, got {twice!r} twice beside {sorted(data)}."
        )
    return data


def parse_text(kind: type[Spec], text: str, known: Collection[str] | None) -> Spec:
    """Read the short form."""
    short = _parse_short_form(text)
    return _validated(kind, dumps(short.data), known, short)


def readable_json(value: JsonValue, indent: str = "") -> str:
    """Return JSON in which everything that fits on a line is on one line."""
    flat = dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(flat) <= LINE_WIDTH or not isinstance(value, dict | list):
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        items = [
            f"{dumps(key, ensure_ascii=False)}: {readable_json(item, inner)}"
            for key, item in value.items()
        ]
    else:
        items = [readable_json(item, inner) for item in value]
    body = f",\n{inner}".join(items)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}{body}\n{indent}{closing}"


def _validated(
    kind: type[Spec], text: str, known: Collection[str] | None, short: _ShortForm | None
) -> Spec:
    """Validate JSON; errors name the place in the short form, if that is what was given."""
    try:
        spec = kind.model_validate_json(text)
    except ValidationError as error:
        raise PolicyFileError(_sentence(error, short)) from error
    check_known(spec, known, (), short)
    return spec


def check_known(
    spec: PolicySpec,
    known: Collection[str] | None,
    root: Sequence[int | str],
    short: _ShortForm | None = None,
) -> None:
    """Check that all operations are cadda's or ``known``; ``root`` is the place of the spec."""
    allowed = set(CATALOGUE) | set(known or ())
    names = dict.fromkeys((*spec.operations, *spec.operations_used))
    for name in () if known is None else names:
        if name not in allowed:
            hint = did_you_mean(name, allowed) or OWN_OPERATIONS
            place = _place((*root, *_path_to(spec, name)), short)
            raise PolicyFileError(f"{place} must be a known operation, got `{name}`{hint}.")


def _check_not_text(kind: type[Spec], path: str) -> None:
    """Raise `PolicyFileError` if a policy was given in place of the name of a file."""
    try:
        parse_text(kind, path, known=None)
    except PolicyFileError:
        return
    text = repr(path) if len(path) <= MAX_QUOTED else f"{path[:MAX_QUOTED]!r} …"
    raise PolicyFileError(
        f"{text} must be the name of a policy file, but is a policy itself; read it with "
        f"PolicySpec.from_text({text}), or save it as a .txt file."
    )


def _sentence(error: ValidationError, short: _ShortForm | None) -> str:
    """Return what is wrong, in the words of the short form if that is what was given."""
    text = describe_error(
        error, noun="field of a policy file", place=lambda path: _place(path, short)
    )
    if short is not None:
        for field, name in _SHORT_NAMES.items():
            text = text.replace(f"`{field}`", f"`{name}`")
    return f"{text}."


def _place(path: Sequence[int | str], short: _ShortForm | None) -> str:
    return python_place(path) if short is None else short.place(path)


def _path_to(spec: PolicySpec, operation: str) -> Sequence[int | str]:
    """Find where a policy first uses an operation, or declares it."""
    for row in spec.rows:
        for i, subpolicy in enumerate(spec.policy[row]):
            for j, stage in enumerate(subpolicy.stages):
                for k, entry in enumerate(stage):
                    if entry.operation == operation:
                        return ("policy", row, i, "stages", j, k, "operation")
    return ("operations", operation)


@dataclass(frozen=True)
class _Line:
    """A subpolicy: the number of its line, and the text of each entry of its stages."""

    number: int
    stages: list[list[str]]


@dataclass(frozen=True)
class _ShortForm:
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
                short = _SHORT_NAMES.get(str(rest[0])) if rest else None
                return f"line {line.number}: " + (f"`{short}` of {entry}" if short else entry)
            case _:
                return f"line {line.number}"


def _parse_short_form(text: str) -> _ShortForm:
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
    return _ShortForm({"policy": dict(policy), "class_names": class_names}, lines, headers)


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
        entry[_FIELDS[key]] = _number(value, number)
    if written.target is not None:
        maps.add(entry, written.target, row, number)
    return entry


def _number(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise PolicyFileError(f"line {number}: `{text}` must be a number.") from error


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
        words.append(f"m={entry.magnitude!r}")
    if entry.weight != 1:
        words.append(f"w={entry.weight!r}")
    if entry.label_map is not None:
        by_row = entry.operation in short
        written = format_name(entry.label_map[row]) if by_row else format_map(entry.label_map)
        words.append(f"-> {written}")
    return " ".join(words)
