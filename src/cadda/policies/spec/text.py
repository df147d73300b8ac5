"""Reading policies: files in JSON, in YAML or in the short form, validated.

Errors name the place, in the words of what was given.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, ValidationError

from cadda._internal.limits import check_brackets, read_text
from cadda._internal.text import (
    describe_error,
    did_you_mean,
    python_place,
    quote,
    short_reason,
    storable,
)
from cadda.exceptions import PolicyFileError
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.short_form import SHORT_NAMES, ShortForm, parse_short_form
from cadda.policies.spec.yaml import yaml_to_json

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = [
    "OWN_OPERATIONS",
    "YAML_FILES",
    "check_known",
    "load_spec",
    "parse_json",
    "parse_text",
    "read_json",
    "readable_json",
    "unique_keys",
]

LINE_WIDTH = 110
MAX_QUOTED = 60
YAML_FILES = (".yaml", ".yml")

Spec = TypeVar("Spec", bound="PolicySpec")

OWN_OPERATIONS = "; list operations of your own in `known`"


def load_spec(
    kind: type[Spec], path: str | os.PathLike[str], known: Collection[str] | None
) -> Spec:
    """Read a policy file."""
    file = Path(path)
    is_short = file.suffix == ".txt"
    try:
        text = read_text(file) if is_short else read_json(file)
        return (parse_text if is_short else parse_json)(kind, text, known)
    except OSError as error:
        _check_not_text(kind, os.fspath(path))
        raise PolicyFileError(f"{file} cannot be read: {short_reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise PolicyFileError(f"{file} is not a policy file: it is not text.") from error
    except PolicyFileError as error:
        raise PolicyFileError(f"{file}: {error}") from error.__cause__


def read_json(path: str | os.PathLike[str]) -> str:
    """Read a file of JSON, or one of YAML as JSON."""
    text = read_text(path)
    return yaml_to_json(text) if Path(path).suffix.lower() in YAML_FILES else text


def parse_json(kind: type[Spec], text: str, known: Collection[str] | None) -> Spec:
    """Validate the content of a policy file."""
    try:
        check_brackets(text)
    except ValueError as error:
        raise PolicyFileError(f"Invalid JSON: {error}.") from error
    spec = _validated(kind, text, known, None)
    loads(text, object_pairs_hook=unique_keys)
    return spec


def unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Make a dict of a JSON object; JSON readers would silently take the last of equal keys."""
    data = dict(pairs)
    if len(data) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise PolicyFileError(
            f"an object must have each key once, got {quote(twice)} twice beside "
            f"{quote(sorted(data))}."
        )
    return data


def parse_text(kind: type[Spec], text: str, known: Collection[str] | None) -> Spec:
    """Read the short form."""
    if not isinstance(text, str):
        raise TypeError(f"`text` must be a policy as text, got {type(text).__name__}.")
    if text != storable(text):
        raise PolicyFileError("the policy has half of a character, which no file can hold.")
    short = parse_short_form(text)
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
    kind: type[Spec], text: str, known: Collection[str] | None, short: ShortForm | None
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
    short: ShortForm | None = None,
) -> None:
    """Check that all operations are cadda's or ``known``; ``root`` is the place of the spec."""
    allowed = set(CATALOGUE) | set(known or ())
    names = dict.fromkeys((*spec.operations, *spec.operations_used))
    for name in () if known is None else names:
        if name not in allowed:
            hint = did_you_mean(name, allowed) or OWN_OPERATIONS
            place = _place((*root, *_path_to(spec, name)), short)
            raise PolicyFileError(f"{place} must be a known operation, got `{name}`{hint}.")


def is_text(kind: type[Spec], text: str) -> bool:
    """Check whether a text is a policy in short form, and not the name of a file."""
    try:
        parse_text(kind, text, known=None)
    except PolicyFileError:
        return False
    return True


def _check_not_text(kind: type[Spec], path: str) -> None:
    """Raise `PolicyFileError` if a policy was given in place of the name of a file."""
    if not is_text(kind, path):
        return
    text = repr(path) if len(path) <= MAX_QUOTED else f"{path[:MAX_QUOTED]!r} …"
    raise PolicyFileError(
        f"{text} must be the name of a policy file, but is a policy itself; read it with "
        f"PolicySpec.from_text({text}), or save it as a .txt file."
    )


def _sentence(error: ValidationError, short: ShortForm | None) -> str:
    """Return what is wrong, in the words of the short form if that is what was given."""
    text = describe_error(
        error, noun="field of a policy file", place=lambda path: _place(path, short)
    )
    if short is not None:
        for field, name in SHORT_NAMES.items():
            text = text.replace(f"`{field}`", f"`{name}`")
    return f"{text}."


def _place(path: Sequence[int | str], short: ShortForm | None) -> str:
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
