"""The configuration of a run, as its config.json has it."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import torch
from pydantic import Discriminator, JsonValue, TypeAdapter

from cadda._internal.files import JsonRecord
from cadda._internal.jsonlines import JsonObject
from cadda._version import __version__
from cadda.reporting.records import Reading, Versions
from cadda.searchers.retraining import SearchBudget
from cadda.training.settings import TrainingSettings

__all__ = [
    "DataSource",
    "RunConfig",
    "SearchConfig",
    "Split",
    "TrainingConfig",
    "differences",
    "load_config",
    "versions",
]


def versions() -> Versions:
    """Return the versions of this process."""
    return Versions(
        cadda=__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),
        machine=platform.platform(),
    )


@dataclass(frozen=True)
class Split:
    """The subjects of each part."""

    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...] = ()


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
    versions: Versions = field(default_factory=versions)
    kind: Literal["search"] = "search"

    @property
    def training(self) -> TrainingSettings:
        """Settings of the models that are trained from scratch."""
        return self.budget.training


RunConfig: TypeAlias = TrainingConfig | SearchConfig

_READER: TypeAdapter[RunConfig] = TypeAdapter(Annotated[RunConfig, Discriminator("kind")])


def load_config(path: Path) -> RunConfig:
    """Read the configuration of a training run or of a search."""
    return _READER.validate_json(path.read_bytes())


def differences(before: RunConfig, after: RunConfig) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield the dotted name and both values of each field that differs, but for versions."""
    for name, *values in _differences(
        *(json.loads(config.to_json()) for config in (before, after))
    ):
        if not name.startswith("versions."):
            yield name, values[0], values[1]


def _differences(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], path: str = ""
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, f"{path}{key}.")
        elif old != new:
            yield f"{path}{key}", old, new
