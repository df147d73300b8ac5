"""Reading and writing policy files, with errors that name the place."""

from __future__ import annotations

import os
from collections.abc import Collection
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from cadda._validation import did_you_mean
from cadda.exceptions import PolicyFileError
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec_text import parse_text

if TYPE_CHECKING:
    from cadda.policies.spec import PolicySpec

__all__ = ["load_spec", "parse_json", "readable_json"]

MAX_BYTES = 100_000_000
LINE_WIDTH = 110

Spec = TypeVar("Spec", bound="PolicySpec")


def load_spec(
    kind: type[Spec], path: str | os.PathLike[str], known: Collection[str] | None
) -> Spec:
    """Read a policy file.

    Parameters
    ----------
    kind : type
        `PolicySpec` or a subclass.
    path : path-like
        The file.
    known : collection of str | None
        Names of operations that are allowed beside cadda's own; None allows any.

    Returns
    -------
    PolicySpec
        The validated spec.
    """
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
        raise PolicyFileError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise PolicyFileError(f"{file} is not a policy file: it is not text.") from error
    try:
        return parse_json(kind, dumps(parse_text(text)) if file.suffix == ".txt" else text, known)
    except PolicyFileError as error:
        raise PolicyFileError(f"{file}: {error}") from error.__cause__


def parse_json(kind: type[Spec], text: str, known: Collection[str] | None) -> Spec:
    """Validate the content of a policy file.

    Parameters
    ----------
    kind : type
        `PolicySpec` or a subclass.
    text : str
        The JSON.
    known : collection of str | None
        Names of operations that are allowed beside cadda's own; None allows any.

    Returns
    -------
    PolicySpec
        The validated spec.
    """
    try:
        spec = kind.model_validate_json(text)
    except ValidationError as error:
        raise PolicyFileError(_one_sentence(error.errors(include_url=False))) from error
    if known is None:
        return spec
    allowed = set(CATALOGUE) | set(known)
    for name in spec.operation_names:
        if name not in allowed:
            raise PolicyFileError(
                f"`{_place_of(spec, name)}` must be an operation that cadda knows, "
                f"got `{name}`{did_you_mean(name, allowed)}."
            )
    return spec


def readable_json(value: JsonValue, indent: str = "") -> str:
    """Write JSON so that whatever fits on a line stands on one line.

    Parameters
    ----------
    value : JSON value
        What to write.
    indent : str
        White space that the lines after the first begin with.

    Returns
    -------
    str
        The JSON text.
    """
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


def _one_sentence(errors: list[ErrorDetails]) -> str:
    """Say the first problem in words, and how many more there are."""
    first = errors[0]
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).lstrip(".")
    rule = first["msg"].removeprefix("Value error, ").replace("Input should", "must")
    got = repr(first["input"])
    value = f", got {got}" if first["loc"] and len(got) <= 60 else ""
    if first["type"] == "missing":
        rule, value = "is missing", ""
    elif first["type"] == "too_long":
        rule, value = f"must have at most {first['ctx']['max_length']} items", ""
    elif first["type"] == "extra_forbidden":
        rule = "is not a field of a policy file"
    more = f" ({len(errors) - 1} more problems)" if len(errors) > 1 else ""
    if not place:
        return f"{rule}{value}{more}."
    colon = "" if rule.startswith(("must ", "is ")) else ":"
    return f"`{place}`{colon} {rule}{value}{more}."


def _place_of(spec: PolicySpec, operation: str) -> str:
    for row in spec.rows:
        for i, subpolicy in enumerate(spec.policy[row]):
            for j, stage in enumerate(subpolicy.stages):
                for k, entry in enumerate(stage):
                    if entry.operation == operation:
                        return f"policy.{row}[{i}].stages[{j}][{k}].operation"
    return f"operations.{operation}"
