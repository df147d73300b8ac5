"""The folder of a run, and the names of all files in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from cadda._internal.files import make_folder
from cadda._internal.text import short_reason
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.runs.config import RunConfig, differences, load_config
from cadda.searchers.retraining import SearchFiles
from cadda.training import Samples

__all__ = ["RunFolder", "digest_of"]


@dataclass(frozen=True)
class RunFolder:
    """The folder of a training run or of a search."""

    folder: Path

    @property
    def config(self) -> Path:
        """A `RunConfig`."""
        return self.folder / "config.json"

    @property
    def data(self) -> Path:
        """`DataFacts`."""
        return self.folder / "data.json"

    @property
    def policy(self) -> Path:
        """The policy of the run, or the last one of its schedule."""
        return self.folder / "policy.json"

    @property
    def schedule(self) -> Path:
        """The schedule that a search has found."""
        return self.folder / "schedule.json"

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.folder / "model.safetensors"

    @property
    def events(self) -> Path:
        """An `EventLog`."""
        return self.folder / "events.jsonl"

    @property
    def scores(self) -> Path:
        """`RunScores` on the test subjects."""
        return self.folder / "scores.json"

    @property
    def predictions(self) -> Path:
        """`Predictions` for the test windows."""
        return self.folder / "predictions.npz"

    @property
    def examples(self) -> Path:
        """`Examples` of what the policy does to training windows."""
        return self.folder / "examples.npz"

    @property
    def sessions(self) -> Path:
        """`Session` by session, the commands that worked on the run."""
        return self.folder / "sessions.json"

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    @property
    def checkpoint(self) -> Path:
        """State from which the run is resumed."""
        return self.folder / "checkpoint.pt"

    @property
    def search_files(self) -> SearchFiles:
        """Files from which a search is resumed."""
        return SearchFiles(
            checkpoint=self.checkpoint,
            retraining=lambda epoch: self.folder / f"retraining-{epoch}.pt",
            study=self.folder / "study.log",
            folds=self.folder / "folds.pt",
            population=self.folder / "population.pt",
        )

    @property
    def operations_figure(self) -> Path:
        """How often the policy uses each operation."""
        return self.folder / "figures" / "operations.png"

    @property
    def evolution_figure(self) -> Path:
        """How the policy changed during the search."""
        return self.folder / "figures" / "evolution.png"

    def begin(self, config: RunConfig) -> None:
        """Start a run, or continue it if it was started with the same configuration."""
        if self.config.exists():
            self._check_same(config)
            return
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise RunError(f"{self.folder} contains other files; choose an empty or new folder.")
        make_folder(self.folder)
        config.save(self.config)

    def read_config(self) -> RunConfig:
        """Read the configuration."""
        try:
            return load_config(self.config)
        except FileNotFoundError as error:
            raise RunError(
                f"{self.folder} is not the folder of a training run or a search: it has no "
                f"{self.config.name}."
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
        for name, old, new in differences(before, config):
            raise RunError(
                f"{self.folder} contains a {config.kind} with another `{name}`: {_short(old)}, "
                f"now {_short(new)}; choose another folder, or use the same arguments to resume "
                "it."
            )


def _short(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def digest_of(windows: Windows) -> str:
    """Return the SHA-256 of subjects, labels and values."""
    return Samples(windows.x, windows.y, tuple(windows.subject)).digest
