"""Options for reading recordings."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from cadda._internal.text import storable
from cadda.cli.display import progress_bar
from cadda.cli.parsing import parse_names

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.data.windows import Windows
    from cadda.reporting.records import Reading

__all__ = ["ReadingOptions", "SelectionOptions"]

RecordingOption = partial(Option, rich_help_panel="Recordings")
PreprocessingOption = partial(
    Option,
    rich_help_panel="Preprocessing (auto: as the mapping file says, or as for its kind of data)",
)


@dataclass(frozen=True)
class SelectionOptions:
    """What is read of the recordings."""

    subject: Annotated[
        str | None,
        RecordingOption(
            help="Metadata column of the epochs that names the subject; for recordings, a regular "
            "expression whose first group is the subject in a file name."
        ),
    ] = None
    label: Annotated[
        str | None,
        RecordingOption(
            help="Metadata column of the epochs that names the class; default: the events."
        ),
    ] = None
    channels: Annotated[
        str | None,
        RecordingOption(
            help="Channels to use, or types such as eeg, separated by commas; default: the good "
            "EEG channels, for nights those of the paper, or those of the mapping file."
        ),
    ] = None
    classes: Annotated[
        str | None, RecordingOption(help="Classes to use, separated by commas; default: all.")
    ] = None
    min_windows: Annotated[
        int | None,
        RecordingOption(help="Drop classes with fewer windows; 0 keeps empty ones.", min=0),
    ] = None
    drop_bad: Annotated[
        bool, RecordingOption("--drop-bad", help="Drop windows with NaN or a flat channel.")
    ] = False
    keep_stage_4: Annotated[
        bool,
        RecordingOption("--keep-stage-4", help="Keep sleep stage 4 as N4, not as part of N3."),
    ] = False
    highpass: Annotated[str, PreprocessingOption(help="High-pass in Hz, or none.")] = "auto"
    lowpass: Annotated[str, PreprocessingOption(help="Low-pass in Hz, or none.")] = "auto"
    notch: Annotated[
        str, PreprocessingOption(help="Frequencies to remove in Hz, separated by commas, or none.")
    ] = "auto"
    reference: Annotated[
        str,
        PreprocessingOption(help="average, channels separated by commas such as M1,M2, or none."),
    ] = "auto"
    sfreq: Annotated[
        str, PreprocessingOption(help="Sampling rate to resample to in Hz, or none.")
    ] = "auto"
    window_seconds: Annotated[str, PreprocessingOption(help="Length of a window in seconds.")] = (
        "auto"
    )
    offset: Annotated[
        str, PreprocessingOption(help="Start of a window after its annotation in seconds.")
    ] = "auto"
    baseline_seconds: Annotated[
        str,
        PreprocessingOption(
            help="Start and end of the baseline after the annotation in seconds, such as -0.2,0, "
            "or none."
        ),
    ] = "auto"
    reject: Annotated[
        str,
        PreprocessingOption(
            help="Drop windows with a larger peak-to-peak amplitude in volts, such as 150e-6."
        ),
    ] = "auto"

    def settings(self) -> dict[str, Any]:
        """Return the settings of the preprocessing that are given."""
        from cadda.data.io.options import given_settings

        return given_settings({name: getattr(self, name) for name in _PREPROCESSING})


_PREPROCESSING = (
    *("highpass", "lowpass", "notch", "reference", "sfreq"),
    *("window_seconds", "offset", "baseline_seconds", "reject"),
)
"""Options for settings of `cadda.Preprocessing`."""


@dataclass(frozen=True)
class ReadingOptions(SelectionOptions):
    """How recordings are read."""

    standardise: Annotated[
        Literal["auto", "window", "recording", "none"],
        RecordingOption(
            help="Standardise each channel per window or per recording; auto: per window, except "
            "windows saved by cadda."
        ),
    ] = "auto"

    def arguments(self) -> dict[str, JsonValue]:
        """Return the arguments of `cadda.read_windows` beside the source."""
        from cadda.data.io.options import argument_of

        given: dict[str, JsonValue] = {
            "subject": self.subject,
            "label": self.label,
            "channels": _json_list(parse_names(self.channels)),
            "classes": _json_list(parse_names(self.classes)),
            "min_windows": self.min_windows,
            "keep_stage_4": self.keep_stage_4 or None,
        }
        settings = {
            argument_of(name): _json_value(value) for name, value in self.settings().items()
        }
        return (
            {name: value for name, value in given.items() if value is not None}
            | settings
            | {
                "standardise": None if self.standardise == "none" else self.standardise,
                "on_bad": "drop" if self.drop_bad else "raise",
            }
        )

    def reading(self, source: Path) -> Reading:
        """Return the call that reads the windows, as the run folder records it."""
        from cadda.reporting.records import Reading

        path = storable(str(source.absolute()))
        return Reading("cadda.read_windows", {"source": path, **self.arguments()})

    def read(self, source: str | Path | Windows) -> Windows:
        """Read windows, with a progress bar, or select from windows."""
        from cadda.data.io.mapping import find_mapping
        from cadda.data.io.read import read_windows

        # Windows in memory take no time, and a terminal cannot show two bars at once.
        in_memory = not isinstance(source, str | Path)
        if isinstance(source, str | Path) and (mapping := find_mapping(Path(source).expanduser())):
            typer.echo(f"note: the mapping file {mapping} is used", err=True)
        # Values that typer has checked, for arguments of several types.
        arguments: dict[str, Any] = self.arguments()
        with nullcontext() if in_memory else progress_bar("Reading") as on_progress:
            return read_windows(source, **arguments, on_progress=on_progress)


def _json_value(value: Any) -> JsonValue:
    return [*value] if isinstance(value, tuple) else value


def _json_list(names: list[str] | None) -> list[JsonValue] | None:
    return None if names is None else [*names]
