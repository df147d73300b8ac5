"""Options that several commands share, each declared once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from cadda.cli.commands import name_options
from cadda.models import MODEL_NAMES

if TYPE_CHECKING:
    from cadda.data.windows import Windows
    from cadda.reporting.records import SplitSettings
    from cadda.runs.sessions import SessionRecorder
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
    "SearchEngine",
    "Seed",
    "SplitOptions",
    "TrainingOptions",
    "TrialEpochs",
    "Valid",
]

Data = Annotated[
    list[Path],
    Argument(
        help="Epochs file, .npz file, mapping file, folder of recordings such as a BIDS data set, "
        "or one or more recordings in formats that MNE reads, also by a pattern such as "
        "'data/*.vhdr'."
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


SubjectOption = partial(Option, rich_help_panel="Subjects")
TrainingOption = partial(Option, rich_help_panel="Training")


Valid = Annotated[float, SubjectOption(help="Fraction of subjects for validation.")]


@dataclass(frozen=True)
class SplitOptions:
    """Which share of the subjects is for what."""

    valid: Valid = 0.2
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

    def announce(self, windows: Windows, seed: int, session: SessionRecorder) -> None:
        """Print what is to be known of the split before the run, and keep it for the report."""
        from cadda.runs.splits import describe_split

        for note in describe_split(windows, self.settings(seed)):
            typer.echo(name_options(note), err=True)
            session.warn(note)


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
