"""Options that several commands share, each declared once."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from typer import Argument, Option

from cadda._internal.limits import parse_json
from cadda.cli.commands import name_options
from cadda.cli.display import progress_bar
from cadda.models import MODEL_NAMES

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.data.windows import Windows
    from cadda.operations.base import Operation
    from cadda.reporting.records import Reading, SplitSettings
    from cadda.training import TrainingSettings

__all__ = [
    "MODEL_HELP",
    "AsJson",
    "BatchSize",
    "Data",
    "Device",
    "Engine",
    "LearningRate",
    "LogTo",
    "Model",
    "OperationSettings",
    "Operations",
    "ReadingOptions",
    "SearchEngine",
    "Seed",
    "SelectionOptions",
    "SplitOptions",
    "TrainingOptions",
    "TrialEpochs",
    "parse_names",
    "parse_operation_settings",
    "parse_operations",
    "parse_settings",
]

Data = Annotated[
    Path,
    Argument(
        help="Epochs file, .npz file, mapping file, recording in a format that MNE reads, folder "
        "of recordings such as a BIDS data set, or a pattern in quotes such as 'data/*.vhdr'."
    ),
]
MODEL_HELP = (
    f"Model to train: {', '.join(MODEL_NAMES)} or braindecode:NAME; auto is shallow for windows "
    "of less than 15 s, chambon2018 for others."
)
Model = Annotated[str, Option(help=MODEL_HELP)]
Operations = Annotated[
    str | None,
    Option(
        help="Operations to use, separated by commas: names, your own as module:Class, `paper` "
        "for the paper's, `default`, or `all`; default: those of the default pool that apply to "
        "the montage."
    ),
]
OperationSettings = Annotated[
    list[str] | None,
    Option(
        "--operation-setting",
        help="A setting of an operation, such as frequency_shift.symmetric=true or "
        "time_mask.max_length=3; may be repeated.",
    ),
]
BatchSize = Annotated[int, Option(help="Windows per training step.", min=1)]
LearningRate = Annotated[float, Option(help="Learning rate of Adam.")]
Seed = Annotated[int, Option(help="Random seed; the same seed gives the same result.")]
Device = Annotated[Literal["auto", "cpu", "cuda", "mps"], Option(help="Device to compute on.")]
Engine = Annotated[
    str,
    Option(help="Where to run jobs: serial, processes:N, dask:ADDRESS or dask:local:N."),
]
SearchEngine = Annotated[
    str,
    Option(
        help="Where to train: auto (all cores if it takes long), serial, processes:N, "
        "dask:ADDRESS or dask:local:N."
    ),
]
LogTo = Annotated[
    list[str] | None,
    Option(
        help="Experiment tracker to log to: tensorboard:FOLDER, mlflow[:URI] or wandb[:PROJECT]; "
        "may be repeated."
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]


RecordingOption = partial(Option, rich_help_panel="Recordings")
PreprocessingOption = partial(
    Option,
    rich_help_panel="Preprocessing (auto: as the mapping file says, or as for its kind of data)",
)
SubjectOption = partial(Option, rich_help_panel="Subjects")
TrainingOption = partial(Option, rich_help_panel="Training")


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

        path = str(source.absolute())
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


@dataclass(frozen=True)
class SplitOptions:
    """Which share of the subjects is for what."""

    valid: Annotated[float, SubjectOption(help="Fraction of subjects for validation.")] = 0.2
    test: Annotated[
        float | None,
        SubjectOption(
            help="Fraction of subjects for testing; default: a fifth, at least 6 of 12 or more."
        ),
    ] = None
    split_from: Annotated[
        Path | None,
        SubjectOption(
            help="Folder of an earlier run whose training, validation and test subjects are used."
        ),
    ] = None

    def settings(self, seed: int) -> SplitSettings:
        """Return how subjects are split."""
        from cadda.reporting.records import SplitSettings

        if self.split_from is not None and self.test is not None:
            raise ValueError("pass `test` or `split_from`, not both.")
        earlier = None if self.split_from is None else str(self.split_from)
        return SplitSettings(self.valid, self.test, seed, earlier)

    def announce(self, windows: Windows, seed: int) -> None:
        """Print what is to be known of the split before the run."""
        from cadda.runs.splits import describe_split

        for note in describe_split(windows, self.settings(seed)):
            typer.echo(name_options(note), err=True)


@dataclass(frozen=True)
class TrainingOptions:
    """How models are trained: fields of `cadda.TrainingSettings`."""

    max_epochs: Annotated[int, TrainingOption(help="Maximum number of epochs.", min=1)] = 300
    patience: Annotated[
        int,
        TrainingOption(help="Stop training after this many epochs without improvement.", min=1),
    ] = 30
    batch_size: Annotated[int, TrainingOption(help="Windows per training step.", min=1)] = 16
    lr: Annotated[float, TrainingOption(help="Learning rate.")] = 1e-3
    optimizer: Annotated[
        Literal["adam", "adamw", "nadam", "radam", "sgd"], TrainingOption(help="Optimizer.")
    ] = "adam"
    weight_decay: Annotated[
        float | None,
        TrainingOption(help="Weight decay; default: 0.01 for adamw, 0 for others.", min=0),
    ] = None
    class_weights: Annotated[
        bool, TrainingOption(help="Weight the loss by inverse class frequency.")
    ] = False
    copies: Annotated[
        int | None,
        TrainingOption(
            help="Augmented copies added to each window; 0 replaces the window. Default: 1 for "
            "class-wise policies, 0 otherwise.",
            min=0,
        ),
    ] = None
    monitor: Annotated[
        Literal["loss", "balanced_accuracy"],
        TrainingOption(help="Validation metric for early stopping and for the best weights."),
    ] = "loss"
    precision: Annotated[
        Literal["float32", "bfloat16"],
        TrainingOption(help="Precision of the forward pass of training; bfloat16 mixes both."),
    ] = "float32"
    compile: Annotated[
        bool, TrainingOption("--compile", help="Compile the model for training by torch.compile.")
    ] = False

    def settings(self, seed: int) -> TrainingSettings:
        """Return the settings of training runs."""
        from cadda.training import TrainingSettings

        return TrainingSettings(**asdict(self), seed=seed)


TrialEpochs = Annotated[
    int | None,
    TrainingOption(
        help="Maximum number of epochs of models that only try a policy; default: as many as "
        "--max-epochs, which the final models and those without augmentation always have.",
        min=1,
    ),
]


def parse_names(text: str | None) -> list[str] | None:
    """Return the names in a list separated by commas; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",")]


def _json_value(value: Any) -> JsonValue:
    return [*value] if isinstance(value, tuple) else value


def parse_operations(text: str | None) -> list[str | Operation | type[Operation]] | None:
    """Return the operations in a list separated by commas; those of the user are imported."""
    names = parse_names(text)
    return None if names is None else [_operation(name) if ":" in name else name for name in names]


def _operation(place: str) -> Operation | type[Operation]:
    """Import an operation, or its class, from a module that may be in the current folder."""
    from cadda._internal.text import short_reason

    module, _, name = place.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return cast("Operation | type[Operation]", getattr(importlib.import_module(module), name))
    # A module of the user's own can raise anything.
    except Exception as error:
        raise ValueError(
            f"`operations` must be names or module:Class, got {place!r}, which cannot be "
            f"imported: {short_reason(error)}."
        ) from error


def _json_list(names: list[str] | None) -> list[JsonValue] | None:
    return None if names is None else [*names]


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
