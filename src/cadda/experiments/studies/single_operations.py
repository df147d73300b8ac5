"""The gain from each operation alone, by size of the training set and by magnitude.

Figure 3 of the paper (Sleep Physionet), its counterpart in the appendix (MASS), and the grids of
the appendix with which the paper chose the magnitudes of the manual exploration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from statistics import median
from typing import Annotated, ClassVar, TypeAlias, TypeVar

from matplotlib.figure import Figure
from pydantic import Field

from cadda._internal.limits import MAX_COUNT
from cadda.data.windows import Windows
from cadda.experiments.operations import (
    GAIN_COLUMNS,
    NO_OPERATION,
    SCALES,
    Magnitudes,
    chosen_operations,
    gain_cells,
    interval_note,
    magnitude_of,
    relative_gain,
    single_policy,
)
from cadda.experiments.study import Cell, Names, PlanOnly, Record, ResultTable, Several, Study
from cadda.experiments.training import (
    OperationJob,
    TrainingConfig,
    TrainingScores,
    check_training,
    make_fold,
    train_and_score,
    training_seconds,
)
from cadda.operations.catalogue import CATALOGUE
from cadda.reporting.figures.gains import plot_gain_curves

__all__ = ["MagnitudesConfig", "MagnitudesStudy", "ManualConfig", "ManualJob", "ManualStudy"]

Magnitude = Annotated[float, Field(ge=0, le=1)]
Gains: TypeAlias = dict[str, dict[float, list[float]]]
"""Relative gains of all folds, by operation and place on an axis."""

Config = TypeVar("Config", bound=TrainingConfig)
Job = TypeVar("Job", bound=OperationJob)


class OperationStudy(Study[Config, Job, TrainingScores]):
    """A model for each fold and operation, and one without augmentation."""

    result_type = TrainingScores

    @abstractmethod
    def fraction(self, config: Config, job: Job) -> float:
        """Return the fraction of the training windows that a job uses."""

    def expected_seconds(self, config: Config, windows: Windows, job: Job) -> float:
        return training_seconds(config, windows, fraction=self.fraction(config, job))

    def run(self, config: Config, windows: Windows, job: Job) -> TrainingScores:
        fold = make_fold(config, windows, job.fold, fraction=self.fraction(config, job))
        return train_and_score(config, fold, single_policy(job.operation, job.magnitude))


class ManualConfig(TrainingConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations; none: the default pool."""
    magnitudes: PlanOnly[Magnitudes] = "sleep"
    """sleep or motor-imagery, the best of the authors; or magnitudes by operation."""
    n_fractions: PlanOnly[int] = Field(4, ge=1, le=MAX_COUNT)
    """Sizes of the training set: all of it, a half, a quarter …"""


class ManualJob(OperationJob):
    """Train with one operation on a fraction of the training windows of a fold."""

    fraction: float


class ManualStudy(OperationStudy[ManualConfig, ManualJob]):
    """Operations over the size of the training set."""

    config_type = ManualConfig
    job_type = ManualJob
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": SCALES["quick"] | {"operations": ("sign_flip", "time_mask"), "n_fractions": 2},
        "cpu": SCALES["cpu"] | {"n_train": 200, "n_fractions": 3},
        "paper": SCALES["paper"] | {"n_fractions": 12},
    }

    def jobs(self, config: ManualConfig, windows: Windows) -> list[ManualJob]:
        check_training(config, windows)
        operations = {
            name: magnitude_of(name, config.magnitudes)
            for name in chosen_operations(windows, config.operations)
        }
        return [
            ManualJob(fold=fold, fraction=2.0**-k, operation=name, magnitude=magnitude)
            for fold in range(config.n_folds)
            for k in reversed(range(config.n_fractions))
            for name, magnitude in {NO_OPERATION: None, **operations}.items()
        ]

    def fraction(self, config: ManualConfig, job: ManualJob) -> float:
        return job.fraction

    def table(self, records: Sequence[Record[ManualJob, TrainingScores]]) -> ResultTable:
        gains, sizes = _manual_gains(records), _sizes(records)
        scores: dict[tuple[float, str], list[float]] = defaultdict(list)
        for record in records:
            score = record.result.balanced_accuracy
            scores[record.job.fraction, record.job.operation].append(score)
        rows: list[tuple[Cell, ...]] = []
        for fraction, size in sorted(sizes.items()):
            plain = scores.get((fraction, NO_OPERATION))
            if plain:
                rows.append((size, NO_OPERATION, median(plain), None, None, None, len(plain)))
            cells_by_name = {
                name: gain_cells(by_fraction[fraction])
                for name, by_fraction in gains.items()
                if fraction in by_fraction
            }
            for name, cells in sorted(cells_by_name.items(), key=lambda item: -item[1][0]):
                rows.append((size, name, median(scores[fraction, name]), *cells))
        return ResultTable(
            "Relative gain in balanced accuracy by one operation",
            ("windows", "operation", "balanced accuracy", *GAIN_COLUMNS),
            tuple(rows),
            f"Balanced accuracy: median over folds. Gain: {_describe_intervals(gains)}.",
        )

    def figure(self, records: Sequence[Record[ManualJob, TrainingScores]]) -> Figure:
        sizes = _sizes(records)
        gains = {
            name.replace("_", " "): {
                float(sizes[fraction]): by_size[fraction] for fraction in by_size
            }
            for name, by_size in _manual_gains(records).items()
        }
        return plot_gain_curves(gains, xlabel="training windows", log2=True)


def _manual_gains(records: Sequence[Record[ManualJob, TrainingScores]]) -> Gains:
    return _gains(records, lambda job: job.fraction, lambda job: (job.fold, job.fraction))


def _sizes(records: Sequence[Record[ManualJob, TrainingScores]]) -> dict[float, int]:
    """Return the number of training windows of each fraction, the median over folds."""
    sizes: dict[float, list[int]] = defaultdict(list)
    for record in records:
        sizes[record.job.fraction].append(record.result.n_train)
    return {fraction: round(median(numbers)) for fraction, numbers in sizes.items()}


class MagnitudesConfig(TrainingConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations with a magnitude; none: the default pool."""
    magnitudes: PlanOnly[Several[Magnitude]] = Field((0.1, 0.3, 0.5, 0.7, 0.9), min_length=1)
    """Magnitudes to try."""
    fraction: float = Field(1.0, gt=0, le=1)
    """Fraction of the training windows; the paper's is the one with the largest gains."""


class MagnitudesStudy(OperationStudy[MagnitudesConfig, OperationJob]):
    """Operations over their magnitudes."""

    config_type = MagnitudesConfig
    job_type = OperationJob
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": SCALES["quick"]
        | {"operations": ("time_mask", "gaussian_noise"), "magnitudes": (0.2, 0.8)},
        "cpu": SCALES["cpu"],
        "paper": SCALES["paper"]
        | {"magnitudes": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "fraction": 2.0**-11},
    }

    def jobs(self, config: MagnitudesConfig, windows: Windows) -> list[OperationJob]:
        check_training(config, windows)
        operations = chosen_operations(windows, config.operations)
        fixed = [name for name in operations if not CATALOGUE[name].has_magnitude]
        if config.operations is not None and fixed:
            raise ValueError(
                f"`operations` must have a magnitude, but {', '.join(fixed)} has none."
            )
        tried = [
            (name, magnitude)
            for name in operations
            if name not in fixed
            for magnitude in config.magnitudes
        ]
        return [
            OperationJob(fold=fold, operation=name, magnitude=magnitude)
            for fold in range(config.n_folds)
            for name, magnitude in [(NO_OPERATION, None), *tried]
        ]

    def fraction(self, config: MagnitudesConfig, job: OperationJob) -> float:
        return config.fraction

    def table(self, records: Sequence[Record[OperationJob, TrainingScores]]) -> ResultTable:
        gains = _magnitude_gains(records)
        rows = tuple(
            (name, magnitude, CATALOGUE[name].describe(magnitude), *gain_cells(values))
            for name, by_magnitude in gains.items()
            for magnitude, values in sorted(by_magnitude.items())
        )
        return ResultTable(
            "Relative gain in balanced accuracy by one operation, over its magnitude",
            ("operation", "magnitude", "that is", *GAIN_COLUMNS),
            rows,
            f"Gain: {_describe_intervals(gains)}; {records[0].result.n_train} training windows.",
        )

    def figure(self, records: Sequence[Record[OperationJob, TrainingScores]]) -> Figure:
        gains = {
            f"{name.replace('_', ' ')}\n1: {CATALOGUE[name].describe(1.0)}": by_magnitude
            for name, by_magnitude in _magnitude_gains(records).items()
        }
        return plot_gain_curves(gains, xlabel="magnitude")


def _magnitude_gains(records: Sequence[Record[OperationJob, TrainingScores]]) -> Gains:
    return _gains(records, lambda job: job.magnitude or 0.0, lambda job: job.fold)


def _gains(
    records: Sequence[Record[Job, TrainingScores]],
    place: Callable[[Job], float],
    group: Callable[[Job], Hashable],
) -> Gains:
    """Collect the relative gains in balanced accuracy of operations over none.

    An operation and its baseline are of the same ``group``, such as the fold. Jobs whose baseline
    is missing are left out.
    """
    scores = [(record.job, record.result.balanced_accuracy) for record in records]
    baselines = {group(job): score for job, score in scores if job.operation == NO_OPERATION}
    gains: Gains = defaultdict(lambda: defaultdict(list))
    for job, score in scores:
        baseline = baselines.get(group(job))
        if baseline and job.operation != NO_OPERATION:
            gains[job.operation][place(job)].append(relative_gain(score, baseline))
    return gains


def _describe_intervals(gains: Gains) -> str:
    return interval_note(values for by_place in gains.values() for values in by_place.values())
