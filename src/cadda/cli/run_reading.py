"""Reading options of an earlier run, for data that are read alike."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cadda.cli.commands import given_options
from cadda.cli.reading import ReadingOptions

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.reporting.records import Reading

__all__ = ["RunReadingOptions", "options_like"]

OF_ARRAYS = ("channels", "classes", "min_windows", "standardise", "on_bad")
"""Arguments that also hold for arrays, which are preprocessed already."""

DEFAULTS: Mapping[str, JsonValue] = {"standardise": "auto", "on_bad": "raise"}

FLAGS = {"on_bad": "drop_bad"}
"""Options with another name than the argument."""


@dataclass(frozen=True)
class RunReadingOptions(ReadingOptions):
    """Reading options, with those of a run where they are not given."""

    of_run: Mapping[str, JsonValue] = field(default_factory=dict)

    def arguments(self) -> dict[str, JsonValue]:
        """Return the arguments of `cadda.read_windows` beside the source."""
        return {**ReadingOptions.arguments(self), **self.of_run}

    def describe(self) -> str:
        """Return the options of the run as they would be typed; empty if there are none."""
        return " ".join(
            _as_typed(name, value)
            for name, value in self.of_run.items()
            if value != DEFAULTS.get(name, "")
        )


def options_like(
    reading: Reading | None, options: ReadingOptions, data: Sequence[Path]
) -> RunReadingOptions:
    """Return options with those of an earlier call where none is given on the command line."""
    is_call = reading is not None and reading.function == "cadda.read_windows"
    before = dict(reading.arguments) if reading is not None and is_call else {}
    are_arrays = any(path.suffix == ".npz" for path in data)
    given = given_options()
    kept = {
        name: value
        for name, value in before.items()
        if name != "source"
        and FLAGS.get(name, name) not in given
        and (name in OF_ARRAYS or not are_arrays)
    }
    return RunReadingOptions(**asdict(options), of_run=kept)


def _as_typed(name: str, value: JsonValue) -> str:
    """Return an argument as an option."""
    option = f"--{FLAGS.get(name, name).replace('_', '-')}"
    if name in ("on_bad", "keep_stage_4"):
        return option
    if isinstance(value, dict):
        pairs = (shlex.quote(f"{pattern}={new}") for pattern, new in value.items())
        return " ".join(f"{option} {pair}" for pair in pairs)
    text = ",".join(map(_text, value)) if isinstance(value, list) else _text(value)
    return f"{option} {shlex.quote(text)}"


def _text(value: JsonValue) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
