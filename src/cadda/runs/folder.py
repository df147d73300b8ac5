"""The folder of a run: the names of all files in it, and its configuration."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import torch
from pydantic import Discriminator, TypeAdapter

from cadda._internal.files import JsonRecord, make_folder, remove_temporary
from cadda._internal.folder_lock import is_empty, locked
from cadda._internal.jsonlines import JsonObject
from cadda._internal.limits import parse_json, read_bytes
from cadda._internal.text import short_reason
from cadda._version import __version__
from cadda.data.splits import Split
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.operations.own import OwnOperation
from cadda.probing.probe_result import ProbeResult
from cadda.probing.probed_pool import PoolChange
from cadda.reporting.records import Reading, Versions
from cadda.runs.differences import describe_difference
from cadda.searchers.retraining import SearchBudget, SearchFiles
from cadda.training import Samples
from cadda.training.settings import TrainingSettings

__all__ = [
    "HOW_TO_RESUME",
    "DataSource",
    "RunConfig",
    "RunFolder",
    "SearchConfig",
    "TrainingConfig",
    "digest_of",
    "versions",
]

HOW_TO_RESUME = "run it again with the same arguments"
"""What to do with an unfinished run, as the end of a sentence."""


def versions() -> Versions:
    """Return the versions of this process."""
    return Versions(
        cadda=__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),
        machine=platform.platform(),
    )


@dataclass(frozen=True)
class DataSource:
    """Where windows come from, and SHA-256 of each part; empty for no test windows."""

    name: str | None
    train: str
    valid: str
    test: str = ""


@dataclass(frozen=True)
class TrainingConfig(JsonRecord):
    """The arguments of a training run."""

    model: str
    training: TrainingSettings
    policy: JsonObject | None
    reading: Reading | None
    data: DataSource
    split: Split
    own_operations: tuple[OwnOperation, ...] = ()
    versions: Versions = field(default_factory=versions)
    kind: Literal["training"] = "training"


@dataclass(frozen=True)
class SearchConfig(JsonRecord):
    """The arguments of a search."""

    method: str
    classwise: bool
    model: str
    operations: tuple[str, ...]
    seed: int
    settings: JsonObject  # each method has its own
    budget: SearchBudget
    reading: Reading | None
    data: DataSource
    split: Split
    probe: PoolChange | None = None
    own_operations: tuple[OwnOperation, ...] = ()
    versions: Versions = field(default_factory=versions)
    kind: Literal["search"] = "search"

    @property
    def training(self) -> TrainingSettings:
        """Settings of the models that are trained from scratch."""
        return self.budget.training


RunConfig: TypeAlias = TrainingConfig | SearchConfig

_CONFIG: TypeAdapter[RunConfig] = TypeAdapter(Annotated[RunConfig, Discriminator("kind")])


class RunFolder:
    """The folder of a training run or of a search."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.json"  # a `RunConfig`
        self.data = folder / "data.json"  # `DataFacts`
        self.policy = folder / "policy.json"  # of the run, or the last one of its schedule
        self.policy_text = folder / "policy.txt"  # of a search, in few lines
        self.schedule = folder / "schedule.json"  # that a search has found
        self.digests = folder / "digests.json"  # `PolicyDigests` of these files
        self.model = folder / "model.safetensors"
        self.leaks = folder / "leaks.json"  # `LeakReadings` of the model
        self.events = folder / "events.jsonl"  # an `EventLog`
        self.scores = folder / "scores.json"  # `RunScores` on the test subjects
        self.predictions = folder / "predictions.npz"  # `Predictions` for the test windows
        self.probe = folder / "probe.json"  # a `ProbeResult` for the search, if there was one
        self.probing = folder / "probing.pt"  # folds of a probe that is not finished
        self.race = folder / "race.json"  # `RaceFacts` of a search that was a race
        self.examples = folder / "examples.npz"  # `Examples` of what the policy does
        self.sessions = folder / "sessions.json"  # a `Session` for each command that worked on it
        self.report = folder / "report.html"
        self.operations_figure = folder / "figures" / "operations.png"
        self.evolution_figure = folder / "figures" / "evolution.png"
        self.race_figure = folder / "figures" / "race.png"
        # State of an unfinished training run or search.
        self.checkpoint = folder / "checkpoint.pt"

    def fold(self, number: int) -> RunFolder:
        """Return the folder of a fold, from 1, if this is the folder of a cross-validation."""
        return RunFolder(self.folder / f"fold-{number}")

    @property
    def has_folds(self) -> bool:
        """Whether this is the folder of a cross-validation."""
        return not self.config.exists() and self.fold(1).config.exists()

    @property
    def search_files(self) -> SearchFiles:
        """Files from which a search is resumed."""
        return SearchFiles(
            checkpoint=self.checkpoint,
            retraining=lambda epoch: self.folder / f"retraining-{epoch}.pt",
            study=self.folder / "study.log",
            folds=self.folder / "folds.pt",
            population=self.folder / "population.pt",
            runs=self.folder / "runs.jsonl",
            race=self.race,
        )

    def begin(self, config: RunConfig, probe: ProbeResult | None = None) -> None:
        """Start a run, or continue it if it was started with the same configuration."""
        if self.config.exists():
            self._check_same(config)
        else:
            self.check_free()
            make_folder(self.folder)
            config.save(self.config)
        if probe is not None:
            probe.save(self.probe)
        self.probing.unlink(missing_ok=True)

    def check_free(self) -> None:
        """Raise if the folder contains other files than those of a run."""
        if self.config.exists() or not self.folder.is_dir():
            return
        # The probe of a search comes before its configuration, and so do TensorBoard's files.
        logs = filter(_is_log, self.folder.iterdir())
        if not is_empty(self.folder, self.probing, *logs):
            raise RunError(f"{self.folder} contains other files; choose an empty or new folder.")

    @contextmanager
    def in_use(self, kind: Literal["training", "search"]) -> Iterator[None]:
        """Keep other processes from working on the run."""
        self.check_free()
        with locked(self.folder, kind):
            remove_temporary(self.operations_figure.parent)
            yield

    def read_config(self) -> RunConfig:
        """Read the configuration."""
        try:
            return _CONFIG.validate_python(parse_json(read_bytes(self.config)))
        except (FileNotFoundError, NotADirectoryError) as error:
            first = self.fold(1).folder
            hint = f"; that of one of its folds is {first}" if first.is_dir() else ""
            reason = "is a file" if self.folder.is_file() else f"has no {self.config.name}{hint}"
            if self.probe.exists():
                reason = (
                    "has a probe, which has no report; see probe.png, or read "
                    f"{self.probe.name} with `cadda.ProbeResult.load`"
                )
            raise RunError(
                f"{self.folder} is not the folder of a training run or a search: it {reason}."
            ) from error
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.config} is damaged or of another version of cadda "
                f"({short_reason(error)}); choose another folder."
            ) from error

    def _check_same(self, config: RunConfig) -> None:
        before = self.read_config()
        if before.kind != config.kind:
            raise RunError(
                f"{self.folder} contains a {before.kind}, not a {config.kind}; choose another "
                "folder."
            )
        difference = describe_difference(before, config)
        if difference is not None:
            raise RunError(
                f"{self.folder} contains a {config.kind} {difference}; choose another folder, or "
                f"{HOW_TO_RESUME}."
            )


def _is_log(path: Path) -> bool:
    """Check for a file of events of TensorBoard, or a folder of such files."""
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return bool(files) and all(file.name.startswith("events.out.tfevents.") for file in files)


def digest_of(windows: Windows) -> str:
    """Return the SHA-256 of subjects, labels and values."""
    return Samples.of(windows.signals, windows.y, windows.subject).digest
