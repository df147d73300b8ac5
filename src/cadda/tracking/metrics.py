"""Events as numbers for experiment trackers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cadda.policies.spec.entries import ALL_CLASSES
from cadda.probing.probe import ProbeProgress
from cadda.searchers.events import (
    RaceRound,
    Retrained,
    SearchEpoch,
    SearchEvent,
    SearchStart,
    Table,
    TrialEnd,
)
from cadda.training.progress import EpochEnd, TrainingEvent

__all__ = ["EventMetrics", "Metrics", "TrackedEvent", "loggable"]

TrackedEvent: TypeAlias = ProbeProgress | SearchEvent | TrainingEvent

LOSSES = ("train_loss", "valid_loss", "valid_balanced_accuracy")


@dataclass(frozen=True)
class Metrics:
    """Numbers at a step; steps of another group count something else."""

    group: str
    step: int
    values: Mapping[str, float]


class EventMetrics:
    """Turns the events of a training run or of a search into numbers.

    - ``training``: losses by epoch, of `cadda.fit`; ``retraining_0``, ``retraining_1``, … those of
      the models that a search trains from scratch;
    - ``search``: losses, reward and entropy by epoch, or the loss of each trial;
    - ``applied``: by epoch or trial, how often each operation changes a window, by class;
    - ``gain`` and ``accuracy_gain``: of the candidates of a race, by training runs;
    - ``retrained``: scores of models trained from scratch, by epoch or trial; 0 is without policy.
    """

    def __init__(self) -> None:
        self._start: SearchStart | None = None
        self._n_retrained = 0

    def __call__(self, event: TrackedEvent) -> list[Metrics]:
        """Return the numbers of an event; NaN and infinity are left out."""
        cleaned = map(loggable, self._metrics(event))
        return [metrics for metrics in cleaned if metrics.values]

    def _metrics(self, event: TrackedEvent) -> Iterator[Metrics]:
        match event:
            case SearchStart():
                self._start = event
            case EpochEnd():
                group = "training" if self._start is None else f"retraining_{self._n_retrained}"
                yield Metrics(group, event.epoch, _fields(event, LOSSES))
            case SearchEpoch():
                names = (*LOSSES, "reward", "entropy")
                yield Metrics("search", event.epoch, _fields(event, names))
                yield Metrics("applied", event.epoch, self._by_operation(event.applied))
            case TrialEnd():
                yield Metrics("search", event.number, _fields(event, ("value", "trial_seconds")))
                yield Metrics("applied", event.number, self._by_operation(event.applied))
            case RaceRound():
                yield Metrics("gain", event.n_runs, _of_racing(event, event.gains))
                yield Metrics(
                    "accuracy_gain", event.n_runs, _of_racing(event, event.accuracy_gains)
                )
            case Retrained():
                self._n_retrained += 1
                yield Metrics("retrained", event.epoch, _fields(event, LOSSES[1:]))

    def _by_operation(self, table: Table) -> dict[str, float]:
        """Return a table with a name for each class and operation."""
        if self._start is None:
            return {}
        rows = self._start.class_names if len(table) > 1 else (ALL_CLASSES,)
        return {
            operation if row == ALL_CLASSES else f"{row}/{operation}": value
            for row, values in zip(rows, table, strict=True)
            for operation, value in zip(self._start.operations, values, strict=True)
        }


def loggable(metrics: Metrics) -> Metrics:
    """Return numbers with names that trackers accept, without NaN and infinity."""
    finite = {_key(k): v for k, v in metrics.values.items() if math.isfinite(v)}
    return Metrics(metrics.group, metrics.step, finite)


def _fields(event: object, names: Sequence[str]) -> dict[str, float]:
    values = {name: getattr(event, name) for name in names}
    return {name: float(value) for name, value in values.items() if value is not None}


def _of_racing(event: RaceRound, values: Sequence[float]) -> dict[str, float]:
    """Return the values of candidates that are in the race and were trained."""
    rows = zip(event.names, event.statuses, event.n_blocks, values, strict=True)
    return {name: value for name, status, n, value in rows if n and status != "dropped"}


def _key(name: str) -> str:
    """Return a name without characters that trackers do not accept."""
    return re.sub(r"[^\w/.-]+", "_", name.replace("->", "to")).strip("_")
