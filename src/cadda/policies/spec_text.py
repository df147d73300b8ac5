"""The short form of a policy, for people to write and to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue

from cadda.exceptions import PolicyFileError

if TYPE_CHECKING:
    from cadda.policies.spec import PolicySpec, StageEntry, Subpolicy

__all__ = ["ALL_CLASSES", "format_text", "parse_text"]

ALL_CLASSES = "*"
"""Stands for every class in the policy of a class-agnostic spec."""

_FIELDS = {"p": "probability", "m": "magnitude", "w": "weight"}


def parse_text(text: str) -> dict[str, JsonValue]:
    """Turn the short form into the content of a policy file.

    Parameters
    ----------
    text : str
        The short form; see `PolicySpec.from_text`.

    Returns
    -------
    dict
        Data for `PolicySpec.from_dict`, not validated yet.
    """
    policy: dict[str, list[JsonValue]] = {}
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
            policy[current] = []
        elif line:
            policy.setdefault(current, []).append(_parse_subpolicy(line, number))
    if not policy:
        raise PolicyFileError("the policy must have at least one line, such as `sign_flip p=0.5`.")
    class_names: JsonValue = None if ALL_CLASSES in policy else list(policy)
    return {"policy": dict(policy), "class_names": class_names}


def format_text(spec: PolicySpec) -> str:
    """Turn a policy into the short form.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    str
        Text that `PolicySpec.from_text` reads back to the same policy.
    """
    lines = []
    for row in spec.rows:
        if spec.is_classwise:
            lines.append(f"[{row}]")
        lines += [_format_subpolicy(subpolicy) for subpolicy in spec.policy[row]]
    return "\n".join(lines) + "\n"


def _parse_subpolicy(line: str, number: int) -> JsonValue:
    subpolicy: dict[str, JsonValue] = {}
    head, colon, rest = line.partition(":")
    if colon:
        key, _, value = head.partition("=")
        if key.strip() != "w":
            raise PolicyFileError(f"line {number}: only `w=…` may stand before a colon.")
        subpolicy["weight"] = _number(value, number)
        line = rest
    subpolicy["stages"] = [
        [_parse_entry(entry, number) for entry in stage.split("|")] for stage in line.split(">")
    ]
    return subpolicy


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
