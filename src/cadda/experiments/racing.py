"""Races of search methods: the score of the policy found after some computing time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import median_estimate
from cadda.api.prepare import make_problem
from cadda.api.search import probe_source
from cadda.api.search_problem import find_probe
from cadda.compute import open_engine
from cadda.experiments.objects import find_model
from cadda.experiments.study import Cell, JobResult, Record, ResultTable, StudyJob
from cadda.experiments.training import (
    Fold,
    TrainingConfig,
    TrainingScores,
    train_and_score,
    training_settings,
)
from cadda.operations.pool import OperationPool
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.figures.heatmap import OperationUse
from cadda.reporting.figures.race import RaceCurve, RacePanel
from cadda.searchers.method import SearchMethod
from cadda.searchers.registry import find_method
from cadda.searchers.retraining import AnyPolicy, SearchBudget
from cadda.searchers.runner import SearchContext, SearchRunner

__all__ = [
    "CLASSWISE",
    "METRICS",
    "NO_SEARCH",
    "UNLIMITED",
    "Checkpoints",
    "MethodVariant",
    "RaceJob",
    "RacePoint",
    "RaceResult",
    "baseline_result",
    "best_so_far",
    "operation_use",
    "parse_variant",
    "race",
    "race_panel",
    "race_table",
    "searches_only",
]

NO_SEARCH = "none"
"""The method of jobs that train without augmentation."""

CLASSWISE = "classwise:"
"""Before the name of a method that is to find a policy for each class."""
UNLIMITED = 1_000_000
"""More epochs or trials than any time allows."""

METRICS = {"balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1"}

Numbers = NDArray[np.float64]


class RaceJob(StudyJob):
    """Search with one method on one fold."""

    fold: int
    method: str


class RacePoint(TrainingScores):
    """Scores of the policy at a checkpoint."""

    seconds: float
    """Computing time of the search so far."""
    number: int
    """Epochs or trials so far."""

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        return {"balanced_accuracy": self.balanced_accuracy, "macro_f1": self.macro_f1}[metric]


class RaceResult(JobResult):
    """Scores at each checkpoint, and how often the best policy applies each operation."""

    points: tuple[RacePoint, ...]
    operations: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    applied: tuple[tuple[float, ...], ...] = ()
    """Probabilities by row and operation."""


Job = TypeVar("Job", bound=RaceJob)


@dataclass(frozen=True)
class MethodVariant:
    """A search method, whether each class gets its own policy, and settings."""

    method: str
    classwise: bool = False
    # Settings differ by method, whose dataclass checks them.
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def warmup(self) -> int:
        """Epochs before the policy begins to change."""
        method = find_method(self.method)
        return method.warmup(method.resolve_settings(self.settings))


def parse_variant(name: str) -> MethodVariant:
    """Parse a name such as ``"cadda"`` or ``"classwise:autoaugment"``."""
    plain = name.removeprefix(CLASSWISE)
    method = find_method(plain)
    if plain != name and method.decides_classes:
        raise ValueError(
            f"`{CLASSWISE}` must not be before {plain!r}, a method that itself decides whether "
            "classes get policies of their own."
        )
    return MethodVariant(plain, method.classwise or plain != name)


@dataclass(frozen=True)
class Checkpoints:
    """Increasing computing times, or numbers of epochs or trials, at which policies are tested."""

    stops: tuple[float, ...]
    unit: Literal["seconds", "number"] = "seconds"

    def run_until(self, runner: SearchRunner, seconds: float = 0.0) -> Iterator[float]:
        """Advance a search from stop to stop; yield its computing time in seconds at each.

        Processor time is counted, so that other processes of the machine do not matter, and added
        to that of what went before.
        """
        for stop in self.stops:
            while runner.epoch < runner.n_epochs:
                if (seconds if self.unit == "seconds" else runner.epoch) >= stop:
                    break
                start = process_time()
                runner.advance()
                seconds += process_time() - start
            yield seconds


def race(
    variant: MethodVariant,
    config: TrainingConfig,
    fold: Fold,
    checkpoints: Checkpoints,
    operations: Sequence[str] | OperationPool | None,
) -> RaceResult:
    """Search, and at each checkpoint train from scratch with the policy and test it."""
    method = find_method(variant.method)
    settings = method.resolve_settings(variant.settings, seed=fold.seed)
    problem = make_problem(
        fold.train,
        fold.valid,
        model=find_model(config.model),
        operations=operations,
        device="auto",
    )
    training = training_settings(config, fold)
    budget = SearchBudget(_n_epochs(method, checkpoints), training=training)
    source = probe_source(
        None,
        *(fold.train, fold.valid),
        method=variant.method,
        model=find_model(config.model),
        operations=operations,
        operation_settings=None,
        training=training,
        seed=fold.seed,
        device="auto",
        on_event=None,
    )
    points: list[RacePoint] = []
    policies: list[AnyPolicy] = []
    with open_engine("serial") as engine:
        start = process_time()
        probe = find_probe(source, None, engine)
        spent = process_time() - start
        context = SearchContext(budget, engine, classwise=variant.classwise, probe=probe)
        runner = method.make_runner(problem, settings, context)
        for seconds in checkpoints.run_until(runner, spent):
            policy = runner.best_policy()
            if policy in policies:
                scores: TrainingScores = points[policies.index(policy)]
            else:
                scores = train_and_score(config, fold, policy)
            points.append(_point(scores, seconds, runner.epoch))
            policies.append(policy)
    best = policies[min(range(len(points)), key=lambda i: points[i].valid_loss)]
    spec: PolicySpec = best.segments[-1].policy if isinstance(best, PolicySchedule) else best
    return RaceResult(
        points=tuple(points),
        operations=tuple(spec.operation_names),
        rows=tuple(spec.rows),
        applied=tuple(map(tuple, spec.operation_probabilities().round(4).tolist())),
    )


def _n_epochs(method: SearchMethod[Any], checkpoints: Checkpoints) -> int:
    """Return the budget of a search that is to reach all checkpoints, if it can."""
    if checkpoints.unit == "number":
        return round(checkpoints.stops[-1])
    return method.default_budget if method.plans_ahead else UNLIMITED


def baseline_result(config: TrainingConfig, fold: Fold) -> RaceResult:
    """Train once without augmentation and test: a single point at 0 seconds."""
    return RaceResult(points=(_point(train_and_score(config, fold, None), 0.0, 0),))


def _point(scores: TrainingScores, seconds: float, number: int) -> RacePoint:
    values = scores.model_dump() | {"seconds": round(seconds, 2), "number": number}
    return RacePoint.model_validate(values)


def best_so_far(points: Sequence[RacePoint], metric: str) -> RaceCurve:
    """Return (seconds, test score) of the policy with the lowest validation loss so far."""
    curve, best = [], points[0]
    for point in points:
        if point.valid_loss < best.valid_loss:
            best = point
        curve.append((point.seconds, best.score(metric)))
    return curve


def race_panel(title: str, records: Sequence[Record[Job, RaceResult]], metric: str) -> RacePanel:
    """Collect the curves of methods, and the scores without augmentation, for a panel."""
    by_name = _by_method(records)
    return RacePanel(
        title=title,
        label=METRICS[metric],
        curves={
            name: [best_so_far(record.result.points, metric) for record in races]
            for name, races in by_name.items()
            if name != NO_SEARCH
        },
        level=[record.result.points[0].score(metric) for record in by_name.get(NO_SEARCH, ())],
    )


def race_table(title: str, records: Sequence[Record[Job, RaceResult]]) -> ResultTable:
    """List final scores, gains over no augmentation and times, a row per method."""
    by_name = _by_method(records)
    baseline = {
        record.job.fold: record.result.points[0].balanced_accuracy
        for record in by_name.get(NO_SEARCH, ())
    }
    rows = tuple(_row(name, races, baseline) for name, races in by_name.items())
    columns = (
        *("method", "folds", "accuracy", "75 %", "gain", "75 % of gain"),
        *("seconds", "steps"),
    )
    intervals = ", with bootstrap intervals" if any(row[3] for row in rows) else ""
    note = (
        f"Balanced accuracy and its gain over no augmentation: medians over folds{intervals}. "
        "Seconds: computing time of the search. Steps: epochs or trials in that time."
    )
    return ResultTable(title, columns, rows, note)


def _row(
    name: str, races: Sequence[Record[Job, RaceResult]], baseline: Mapping[int, float]
) -> tuple[Cell, ...]:
    finals = {
        record.job.fold: best_so_far(record.result.points, "balanced_accuracy")[-1][1]
        for record in races
    }
    scores = (name, len(races), *_median_cells(list(finals.values())))
    if name == NO_SEARCH:
        return (*scores, None, None, None, None)
    gains = [value - baseline[fold] for fold, value in finals.items() if fold in baseline]
    ends = [record.result.points[-1] for record in races]
    return (
        *scores,
        *(_median_cells(gains) if gains else (None, None)),
        float(np.median([end.seconds for end in ends])),
        int(np.median([end.number for end in ends])),
    )


def _median_cells(values: Sequence[float]) -> tuple[float, str | None]:
    estimate = median_estimate(values)
    interval = f"{estimate.low:.3f} to {estimate.high:.3f}" if estimate.is_bounded else None
    return estimate.value, interval


def operation_use(records: Sequence[Record[Job, RaceResult]]) -> OperationUse:
    """Average over folds how often the best policies apply each operation."""
    races = _by_method(searches_only(records))
    operations = list(
        dict.fromkeys(
            name
            for group in races.values()
            for record in group
            for name in record.result.operations
        )
    )
    tables = {
        name: np.mean([_aligned(record.result, operations) for record in group], axis=0)
        for name, group in races.items()
    }
    rows = {
        name: ["all classes" if row == ALL_CLASSES else row for row in group[0].result.rows]
        for name, group in races.items()
    }
    return OperationUse(tables, rows, operations)


def searches_only(records: Sequence[Record[Job, RaceResult]]) -> list[Record[Job, RaceResult]]:
    """Return the records of jobs with a search."""
    return [record for record in records if record.job.method != NO_SEARCH]


def _aligned(result: RaceResult, operations: Sequence[str]) -> Numbers:
    """Bring the columns of a policy, which may lack operations, into a common order."""
    column = {name: i for i, name in enumerate(result.operations)}
    applied = np.array(result.applied)
    empty = np.zeros(len(applied))
    return np.stack(
        [applied[:, column[name]] if name in column else empty for name in operations], axis=1
    )


def _by_method(
    records: Sequence[Record[Job, RaceResult]],
) -> dict[str, list[Record[Job, RaceResult]]]:
    groups: dict[str, list[Record[Job, RaceResult]]] = {}
    for record in records:
        groups.setdefault(record.job.method, []).append(record)
    return groups
