"""What differs between the run of a folder and the one that is to continue it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from cadda._internal.differences import excerpts

if TYPE_CHECKING:
    from cadda.runs.folder import RunConfig

__all__ = ["describe_difference"]

PATHS = ("data.name", "reading.arguments.source", "own_operations")
"""Fields of a configuration that depend on where the data are, and from where a command is run."""

GROUPS = ("reading.arguments.", "settings.", "budget.training.", "training.", "budget.")
"""Where a configuration has arguments of `cadda.read_windows`, `cadda.fit` and `cadda.search`."""

ARGUMENTS = {"n_epochs": "budget", "retrain_at": "retrain_every"}
"""Arguments that a configuration has under another name."""

_ORDER = {"split": 1, "data": 2}

PARTS = {"train": "training", "valid": "validation", "test": "test"}


def describe_difference(before: RunConfig, after: RunConfig) -> str | None:
    """Return in which argument, or else in which data, two runs differ; None if in nothing."""
    old, new = (json.loads(config.to_json()) for config in (before, after))
    changes = [
        change
        for change in _changes(old, new)
        if change[0] not in PATHS and not change[0].startswith("versions.")
    ]
    # What the user has set comes first: it is why subjects and windows differ.
    changes.sort(key=lambda change: _ORDER.get(change[0].partition(".")[0], 0))
    return _describe(*changes[0]) if changes else None


def _describe(name: str, old: JsonValue, new: JsonValue) -> str:
    group, _, part = name.partition(".")
    if group == "data":
        return (
            f"on other windows: those of the {PARTS[part]} subjects have changed since then, by "
            "the recordings, how they are read, or their split"
        )
    first, second = excerpts(old, new)
    if group == "split":
        return f"with other {PARTS[part]} subjects: {first}, now {second}"
    return f"with another `{_argument(name)}`: {first}, now {second}"


def _argument(name: str) -> str:
    """Return the argument that a field of the configuration is about."""
    for group in GROUPS:
        name = name.removeprefix(group)
    name = name.partition(".")[0]
    return ARGUMENTS.get(name, name)


def _changes(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], path: str = ""
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield the dotted name and both values of each field that differs."""
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(old, new, f"{path}{key}.")
        elif old != new:
            yield f"{path}{key}", old, new
