"""Options for reading recordings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from cadda._internal.text import path_order, storable
from cadda.cli.commands import name_options
from cadda.cli.display import progress_bar
from cadda.cli.parsing import parse_class_map, parse_names
from cadda.exceptions import DataWarning, one_line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.data.windows import Windows
    from cadda.reporting.records import Reading

__all__ = ["ReadingOptions", "SelectionOptions", "source_of"]

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
        str | None,
        RecordingOption(
            help="Classes to use, separated by commas (a name that has one in double quotes); "
            "default: all."
        ),
    ] = None
    class_from: Annotated[
        str | None,
        RecordingOption(
            help="What names the class: annotations, file (its name), participants:COLUMN (of a "
            "table of participants), or for epochs metadata:COLUMN; default: as the mapping file "
            "says, or annotations and events."
        ),
    ] = None
    class_map: Annotated[
        list[str] | None,
        RecordingOption(
            metavar="PATTERN=CLASS",
            help="Class of annotations, events, sleep stages, file names or values of a column, "
            "where * stands for any text; can be repeated, and several may have the same class. "
            "What matches nothing is left out.",
        ),
    ] = None
    within: Annotated[
        str | None,
        RecordingOption(
            help="Annotations to cut windows from, separated by commas, if the class is not "
            "theirs; default: the whole recording."
        ),
    ] = None
    repeat: Annotated[
        bool | None,
        RecordingOption(
            "--repeat/--no-repeat",
            help="Fill each annotation with windows, instead of one at its onset.",
        ),
    ] = None
    participants: Annotated[
        str | None,
        RecordingOption(
            help="Table for participants:COLUMN, relative to the mapping file or to a folder "
            "around the recordings; default: participants.tsv."
        ),
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
    transition: Annotated[
        str, PreprocessingOption(help="Width of the transition band of the low-pass in Hz.")
    ] = "auto"
    notch: Annotated[
        str, PreprocessingOption(help="Frequencies to remove in Hz, separated by commas, or none.")
    ] = "auto"
    reference: Annotated[
        str,
        PreprocessingOption(
            help="average, mastoids, channels separated by commas such as M1,M2, or none."
        ),
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

    def rules(self) -> dict[str, Any]:
        """Return the options that assign classes, as far as they are given."""
        given = {
            "class_from": self.class_from,
            "class_map": parse_class_map(self.class_map),
            "within": parse_names(self.within),
            "repeat": self.repeat,
            "participants": self.participants,
        }
        return {name: value for name, value in given.items() if value is not None}

    def settings(self) -> dict[str, Any]:
        """Return the settings of the preprocessing that are given."""
        from cadda.data.io.options import given_settings

        return given_settings({name: getattr(self, name) for name in _PREPROCESSING})


_PREPROCESSING = (
    *("highpass", "lowpass", "transition", "notch", "reference", "sfreq"),
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
            | self.rules()
            | settings
            | {
                "standardise": None if self.standardise == "none" else self.standardise,
                "on_bad": "drop" if self.drop_bad else "raise",
            }
        )

    def reading(self, sources: Sequence[Path]) -> Reading:
        """Return the call that reads the windows, as the run folder records it."""
        from cadda.reporting.records import Reading

        ordered = sorted(sources, key=path_order)
        paths: list[JsonValue] = [storable(str(path.absolute())) for path in ordered]
        source = paths[0] if len(paths) == 1 else paths
        return Reading("cadda.read_windows", {"source": source, **self.arguments()})

    def read(self, source: str | Path | Sequence[Path] | Windows) -> Windows:
        """Read windows, with a progress bar, or select from windows."""
        from cadda.data.io.read import read_windows
        from cadda.data.windows import Windows

        # Windows in memory take no time, and a terminal cannot show two bars at once.
        in_memory = isinstance(source, Windows)
        if not isinstance(source, str | Path | Windows):
            source = source_of(source)
        # Values that typer has checked, for arguments of several types.
        arguments: dict[str, Any] = self.arguments()
        with (
            _shown_notes(),
            nullcontext() if in_memory else progress_bar("Reading") as on_progress,
        ):
            return read_windows(source, **arguments, progress=False, on_progress=on_progress)


def source_of(paths: Sequence[Path]) -> Path | list[Path]:
    """Return the only path, or several in the order in which a folder of them is read."""
    return paths[0] if len(paths) == 1 else sorted(paths, key=path_order)


@contextmanager
def _shown_notes() -> Iterator[None]:
    """Print what Python warns of in data as notes; only lost data are recorded as warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        show = warnings.showwarning

        def show_note(message: Warning | str, *place: Any, **options: Any) -> None:
            if place[0] is DataWarning:
                typer.echo(f"note: {name_options(one_line(str(message)))}", err=True)
            else:
                show(message, *place, **options)

        warnings.showwarning = show_note
        yield


def _json_value(value: Any) -> JsonValue:
    return [*value] if isinstance(value, tuple) else value


def _json_list(names: list[str] | None) -> list[JsonValue] | None:
    return None if names is None else [*names]
