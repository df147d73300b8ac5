"""Experiment trackers: TensorBoard, MLflow, Weights & Biases."""

from __future__ import annotations

import importlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller
from time import time
from typing import Any, ClassVar, TypeAlias

from cadda._internal.optional import import_optional
from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError
from cadda.tracking.metrics import EventMetrics, Metrics, TrackedEvent, loggable

__all__ = ["LogTo", "Trackers", "find_trackers", "open_trackers"]

LogTo: TypeAlias = str | Sequence[str] | None
"""Trackers as text, such as ``"tensorboard:FOLDER"``."""

EXPERIMENT = "cadda"
"""Experiment of MLflow, unless its environment variable names another."""


class Tracker(ABC):
    """A run in an experiment tracker."""

    package: ClassVar[str]
    syntax: ClassVar[str]

    @abstractmethod
    def __init__(self, package: Any, target: str, settings: Mapping[str, object]) -> None:
        """Begin a run."""

    @abstractmethod
    def log(self, metrics: Metrics) -> None:
        """Log numbers."""

    @abstractmethod
    def log_text(self, name: str, text: str) -> None:
        """Log a text."""

    @abstractmethod
    def close(self, *, failed: bool) -> None:
        """End the run."""


class TensorBoard(Tracker):
    """Event files in a folder."""

    package = "tensorboard"
    syntax = "tensorboard:FOLDER"

    def __init__(self, package: Any, target: str, settings: Mapping[str, object]) -> None:
        del package  # torch has the writer
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter
        self._writer = writer(log_dir=target)
        rows = [f"| {name} | {value} |" for name, value in settings.items()]
        self._writer.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *rows]))

    def log(self, metrics: Metrics) -> None:
        for name, value in metrics.values.items():
            self._writer.add_scalar(f"{metrics.group}/{name}", value, metrics.step)
        self._writer.flush()

    def log_text(self, name: str, text: str) -> None:
        self._writer.add_text(name, "\n".join(f"    {line}" for line in text.splitlines()))

    def close(self, *, failed: bool) -> None:
        del failed
        self._writer.close()


class MLflow(Tracker):
    """A run of MLflow; without an address, where MLflow's environment variables say."""

    package = "mlflow"
    syntax = "mlflow[:URI]"

    def __init__(self, package: Any, target: str, settings: Mapping[str, object]) -> None:
        self._entities = package.entities
        self._client = package.MlflowClient(tracking_uri=target or None)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        self._run = self._client.create_run(experiment).info.run_id
        for key, value in settings.items():
            self._client.log_param(self._run, key, value)

    def log(self, metrics: Metrics) -> None:
        now = round(1000 * time())
        self._client.log_batch(
            self._run,
            [
                self._entities.Metric(f"{metrics.group}/{name}", value, now, metrics.step)
                for name, value in metrics.values.items()
            ],
        )

    def log_text(self, name: str, text: str) -> None:
        self._client.log_text(self._run, text, f"{name}.txt")

    def close(self, *, failed: bool) -> None:
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")


class WeightsAndBiases(Tracker):
    """A run of Weights & Biases, which reads its key and mode from environment variables."""

    package = "wandb"
    syntax = "wandb[:PROJECT]"

    def __init__(self, package: Any, target: str, settings: Mapping[str, object]) -> None:
        self._run = package.init(
            project=target or EXPERIMENT, config=dict(settings), reinit="create_new"
        )
        self._groups: set[str] = set()

    def log(self, metrics: Metrics) -> None:
        step = f"{metrics.group}/step"
        if metrics.group not in self._groups:
            self._groups.add(metrics.group)
            self._run.define_metric(step, hidden=True)
            self._run.define_metric(f"{metrics.group}/*", step_metric=step)
        values = {f"{metrics.group}/{name}": value for name, value in metrics.values.items()}
        self._run.log({**values, step: metrics.step})

    def log_text(self, name: str, text: str) -> None:
        self._run.summary[name] = text

    def close(self, *, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))


@dataclass(frozen=True)
class TrackerSource:
    """A tracker that can be opened."""

    text: str
    kind: type[Tracker]
    package: Any
    target: str

    def open(self, settings: Mapping[str, object]) -> Tracker:
        """Begin a run."""
        try:
            return self.kind(self.package, self.target, settings)
        except Exception as error:
            raise CaddaError(
                f"`log_to` {self.text!r} cannot be opened: {short_reason(error)}."
            ) from error


TRACKERS: dict[str, type[Tracker]] = {
    kind.package: kind for kind in (TensorBoard, MLflow, WeightsAndBiases)
}


class Trackers:
    """Passes events and texts to trackers; one that fails is left out from then on."""

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        self.trackers = list(trackers)
        self._metrics_of = EventMetrics()

    def __call__(self, event: TrackedEvent) -> None:
        """Log an event."""
        for metrics in self._metrics_of(event):
            self._call(methodcaller("log", metrics))

    def log(self, metrics: Metrics) -> None:
        """Log numbers that are not those of an event."""
        self._call(methodcaller("log", loggable(metrics)))

    def log_text(self, name: str, text: str) -> None:
        """Log a text, such as the policy."""
        self._call(methodcaller("log_text", name, text))

    def close(self, *, failed: bool) -> None:
        """End all runs."""
        self._call(methodcaller("close", failed=failed))

    def _call(self, action: Callable[[Tracker], None]) -> None:
        for tracker in list(self.trackers):
            try:
                action(tracker)
            # A server that cannot be reached must not end a search of hours.
            except Exception as error:
                self.trackers.remove(tracker)
                reason = f"{type(error).__name__}: {short_reason(error)}"
                warnings.warn(f"{tracker.package} logs no more: {reason}", stacklevel=2)


def find_trackers(log_to: LogTo) -> list[TrackerSource]:
    """Return the trackers; raise if one is unknown or its package cannot be imported."""
    texts = [log_to] if isinstance(log_to, str) else list(log_to or ())
    return [_find_tracker(text) for text in texts]


def _find_tracker(text: str) -> TrackerSource:
    name, _, target = text.partition(":")
    kind = TRACKERS.get(name)
    if kind is None or (not target and "[" not in kind.syntax):
        syntax = [kind.syntax for kind in TRACKERS.values()]
        raise ValueError(
            f"`log_to` must be {', '.join(syntax[:-1])} or {syntax[-1]}, got {text!r}."
        )
    return TrackerSource(text, kind, import_optional(name, f"`log_to` {text!r}", name), target)


@contextmanager
def open_trackers(log_to: LogTo, settings: Mapping[str, object]) -> Iterator[Trackers]:
    """Begin a run in each tracker, and end it: as failed, if there is an error."""
    trackers, failed = Trackers(()), True
    try:
        for source in find_trackers(log_to):
            trackers.trackers.append(source.open(settings))
        yield trackers
        failed = False
    finally:
        trackers.close(failed=failed)
