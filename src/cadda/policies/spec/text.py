"""The short form of a policy, which people read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from cadda.exceptions import PolicyFileError

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec, StageEntry, Subpolicy

__all__ = ["ALL_CLASSES", "SHORT_NAMES", "ShortForm", "format_text", "parse_text"]

ALL_CLASSES = "*"
"""Stands for every class in the policy of a class-agnostic spec."""

SHORT_NAMES = {"probability": "p", "magnitude": "m", "weight": "w"}
"""What the fields of a policy file are called in the short form."""

_FIELDS = {short: field for field, short in SHORT_NAMES.items()}


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
                short = SHORT_NAMES.get(str(rest[-1])) if rest else None
                return f"line {line.number}: " + (f"`{short}` of {entry}" if short else entry)
            case _:
                return f"line {line.number}"


def parse_text(text: str) -> ShortForm:
    """Read the short form."""
    policy: dict[str, list[JsonValue]] = {}
    lines: dict[str, list[_Line]] = {}
    headers: dict[str, int] = {}
    current = ALL_CLASSES
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        # A class may have a # in its name.
        if not (line.startswith("[") and line.endswith("]")):
            line = line.partition("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            current = line[1:-1].strip()
            if current in policy:
                raise PolicyFileError(f"line {number}: class `{current}` is there twice.")
            policy[current], lines[current], headers[current] = [], [], number
            if ALL_CLASSES in policy and len(policy) > 1:
                raise PolicyFileError(
                    f"line {number}: `[{current}]` must not be in one policy with lines for "
                    "all classes; put every line below the name of a class, or none."
                )
        elif line:
            subpolicy, stages = _parse_subpolicy(line, number)
            policy.setdefault(current, []).append(subpolicy)
            lines.setdefault(current, []).append(_Line(number, stages))
    if not policy:
        raise PolicyFileError("the policy must have at least one line, such as `sign_flip p=0.5`.")
    for name, number in headers.items():
        if not policy[name]:
            raise PolicyFileError(
                f"line {number}: `[{name}]` must be followed by a line, such as `sign_flip p=0.5`."
            )
    class_names: JsonValue = None if ALL_CLASSES in policy else list(policy)
    return ShortForm({"policy": dict(policy), "class_names": class_names}, lines, headers)


def format_text(spec: PolicySpec) -> str:
    """Return the short form of a policy."""
    lines = []
    for row in spec.rows:
        if spec.is_classwise:
            lines.append(f"[{row}]")
        lines += [_format_subpolicy(subpolicy) for subpolicy in spec.policy[row]]
    return "\n".join(lines) + "\n"


def _parse_subpolicy(line: str, number: int) -> tuple[JsonValue, list[list[str]]]:
    """Return a subpolicy, and the text of each entry of its stages."""
    subpolicy: dict[str, JsonValue] = {}
    head, colon, rest = line.partition(":")
    if colon:
        key, _, value = head.partition("=")
        if key.strip() != "w":
            raise PolicyFileError(f"line {number}: only `w=…` may come before a colon.")
        subpolicy["weight"] = _number(value, number)
        line = rest
    stages = [[entry.strip() for entry in stage.split("|")] for stage in line.split(">")]
    subpolicy["stages"] = [[_parse_entry(entry, number) for entry in stage] for stage in stages]
    return subpolicy, stages


def _parse_entry(text: str, number: int) -> JsonValue:
    words = text.split()
    if not words:
        raise PolicyFileError(f"line {number}: an operation is missing beside `>` or `|`.")
    entry: dict[str, JsonValue] = {"operation": words[0]}
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key not in _FIELDS:
            raise PolicyFileError(
                f"line {number}: `{word}` must be p=, m= or w= with a number, such as p=0.5."
            )
        entry[_FIELDS[key]] = _number(value, number)
    return entry


def _number(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise PolicyFileError(f"line {number}: `{text}` must be a number.") from error


def _format_subpolicy(subpolicy: Subpolicy) -> str:
    weight = "" if subpolicy.weight == 1 else f"w={subpolicy.weight!r}: "
    stages = (" | ".join(_format_entry(entry) for entry in stage) for stage in subpolicy.stages)
    return weight + " > ".join(stages)


def _format_entry(entry: StageEntry) -> str:
    words = [entry.operation, f"p={entry.probability!r}"]
    if entry.magnitude is not None:
        words.append(f"m={entry.magnitude!r}")
    if entry.weight != 1:
        words.append(f"w={entry.weight!r}")
    return " ".join(words)
