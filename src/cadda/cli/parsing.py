"""Texts of options as values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cadda._internal.limits import parse_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.operations.own import OwnOperations

__all__ = [
    "parse_class_map",
    "parse_names",
    "parse_operation_settings",
    "parse_operations",
    "parse_settings",
]

_COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')
"""A comma that an even number of quotes follows, so that it is not between two of them."""
_QUOTED = re.compile(r'"[^"]*"')


def parse_names(text: str | None) -> list[str] | None:
    """Return the names in a list separated by commas; None stays None.

    A name that contains a comma is in double quotes.
    """
    if text is None:
        return None
    names = (name.strip() for name in _COMMA.split(text))
    return [name[1:-1] if _QUOTED.fullmatch(name) else name for name in names]


def parse_class_map(texts: list[str] | None) -> dict[str, str] | None:
    """Return the classes given as ``--class-map PATTERN=CLASS``; None if there are none.

    Patterns may contain ``=`` and keep their spaces, which annotations can have as well.
    """
    classes: dict[str, str] = {}
    for text in texts or ():
        pattern, _, name = text.rpartition("=")
        if not pattern or not name.strip():
            raise ValueError(f"`class_map` must be PATTERN=CLASS, got {text!r}.")
        if classes.setdefault(pattern, name.strip()) != name.strip():
            raise ValueError(
                f"`class_map` must assign {pattern!r} to one class, got {classes[pattern]!r} and "
                f"{name.strip()!r}."
            )
    return classes or None


def parse_operations(text: str | None) -> OwnOperations | None:
    """Return the operations in a list separated by commas; those of the user are imported."""
    from cadda.operations.own import find_operations

    return find_operations(parse_names(text))


def parse_operation_settings(texts: list[str] | None) -> dict[str, dict[str, Any]] | None:
    """Return the settings given as ``--operation-setting operation.name=value``, by operation."""
    settings: dict[str, dict[str, Any]] = {}
    option = "--operation-setting"
    for name, value in parse_settings(texts or [], option).items():
        operation, dot, setting = name.partition(".")
        if not dot:
            raise ValueError(f"`{option}` must be operation.setting=value, got {name!r}.")
        settings.setdefault(operation, {})[setting] = value
    return settings or None


def parse_settings(texts: list[str], option: str = "--set") -> dict[str, JsonValue]:
    """Return the settings given as ``--set name=value``; values are JSON, or else text."""
    settings: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ValueError(f"`{option}` must be name=value, got {text!r}.")
        try:
            settings[name] = parse_json(value)
        except ValueError:
            settings[name] = value
    return settings
