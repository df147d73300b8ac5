"""Which method finds how good a policy in how much time, and with which operations.

Figure 4 of the paper and its variants in the appendix: each search is stopped at some times, and a
model is trained from scratch with the policy found so far. The curve is the test score of the best
of these policies by validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pydantic import Field, field_validator

from cadda._internal.text import did_you_mean
from cadda.api.prepare import model_for
from cadda.data.windows import Windows
from cadda.experiments.objects import find_model
from cadda.experiments.operations import chosen_operations
from cadda.experiments.racing import (
    METRICS,
    NO_SEARCH,
    Checkpoints,
    MethodVariant,
    RaceJob,
    RaceResult,
    baseline_result,
    operation_use,
    parse_variant,
    race,
    race_panel,
    race_table,
)
from cadda.experiments.study import Names, PlanOnly, Record, ResultTable, Several, Study
from cadda.experiments.training import Fold, TrainingConfig, make_fold, training_seconds
from cadda.reporting.figures.heatmap import plot_selected
from cadda.reporting.figures.race import plot_race

__all__ = [
    "Ablation",
    "MethodRaceStudy",
    "RaceConfig",
    "RaceStudy",
    "SearchRace",
    "SelectedOperations",
    "race_scales",
]

SAME_JOBS = ("search-race", "ablation", "selected-operations")
"""Studies in which the same method, fold and settings are the same job."""

VARIANTS: dict[str, MethodVariant] = {
    "adda": MethodVariant("adda"),
    "without RELAX": MethodVariant("adda", settings={"estimator": "straight-through"}),
    "without RELAX and sampling": MethodVariant("adda", settings={"sampling": "mixture"}),
    "dada": MethodVariant("dada"),
}
"""Variants of ADDA in the ablation."""

N_SHOWN = 3
MIN_SHOWN = 0.005
"""Probabilities that would be written as 0 % are not listed."""


class RaceConfig(TrainingConfig):
    """Settings of studies that race searches."""

    methods: PlanOnly[Names] = Field((NO_SEARCH,), min_length=1)
    """Methods to compare; `none` trains without augmentation."""
    stops: Several[float] = Field((10.0, 40.0), min_length=1)
    """Computing times in seconds at which a model is trained with the policy found so far."""
    operations: Names | None = None
    """Operations to choose from; none: the default pool."""

    @field_validator("stops")
    @classmethod
    def _increasing(cls, stops: tuple[float, ...]) -> tuple[float, ...]:
        if min(stops) <= 0 or list(stops) != sorted(set(stops)):
            raise ValueError("must be positive and increase")
        return stops


Config = TypeVar("Config", bound=RaceConfig)
Job = TypeVar("Job", bound=RaceJob)
Records = Sequence[Record[RaceJob, RaceResult]]


def race_scales(quick: Sequence[str], full: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return settings by scale: the quick scale has other methods."""
    return {
        "quick": {
            "methods": (NO_SEARCH, *quick),
            "stops": (0.05, 0.3),
            "n_folds": 1,
            "n_subjects": 6,
            "n_windows": 12,
            "max_epochs": 2,
            "model": "shallow",
        },
        # Twelve subjects to learn from, four of them for validation, and sixty to test on.
        "cpu": {
            "methods": (NO_SEARCH, *full),
            "n_folds": 10,
            "n_subjects": 72,
            "n_windows": 12,
            "valid": 4 / 72,
            "test": 60 / 72,
            "max_epochs": 200,
            "stops": (3.0, 6.0, 12.0, 20.0, 30.0, 45.0, 70.0, 100.0),
        },
        "paper": {
            "methods": (NO_SEARCH, *full),
            "n_folds": 5,
            "n_subjects": 60,
            "n_windows": 900,
            "valid": 0.4,
            "stops": (900.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0),
        },
    }


class RaceStudy(Study[Config, Job, RaceResult]):
    """Race searches, a job per fold and method."""

    result_type = RaceResult
    title: ClassVar[str]
    """Title of the table."""

    def variant(self, name: str) -> MethodVariant:
        """Return the method and settings of a name in ``methods``; `ValueError` if unknown."""
        return parse_variant(name)

    def fold(self, config: Config, windows: Windows, job: Job) -> Fold:
        """Return the data of a job."""
        return make_fold(config, windows, job.fold)

    def check(self, config: Config, windows: Windows, job: Job) -> None:
        """Raise an error for settings that do not fit the data, such as that of a job."""
        train = self.fold(config, windows, job).train
        for name in config.methods:
            if name != NO_SEARCH:
                self.variant(name)
        chosen_operations(windows, config.operations)
        model_for(find_model(config.model), train, seed=0)

    def expected_seconds(self, config: Config, windows: Windows, job: Job) -> float:
        training = training_seconds(config, windows)
        if job.method == NO_SEARCH:
            return training
        return config.stops[-1] + training * len(config.stops)

    def run(self, config: Config, windows: Windows, job: Job) -> RaceResult:
        fold = self.fold(config, windows, job)
        if job.method == NO_SEARCH:
            return baseline_result(config, fold)
        checkpoints = Checkpoints(config.stops)
        return race(self.variant(job.method), config, fold, checkpoints, config.operations)

    def table(self, records: Sequence[Record[Job, RaceResult]]) -> ResultTable:
        return race_table(self.title, records)

    def panels(
        self, records: Sequence[Record[Job, RaceResult]]
    ) -> Mapping[str, Sequence[Record[Job, RaceResult]]]:
        """Return the records of each column of the figure, by its title."""
        return {"": records}

    def figure(self, records: Sequence[Record[Job, RaceResult]]) -> Figure:
        panels = self.panels(records)
        return plot_race(
            [
                [race_panel(title, group, metric) for title, group in panels.items()]
                for metric in METRICS
            ]
        )


class MethodRaceStudy(RaceStudy[Config, RaceJob]):
    """Race searches, a job per fold and method."""

    job_type = RaceJob

    def jobs(self, config: Config, windows: Windows) -> list[RaceJob]:
        jobs = [
            RaceJob(fold=fold, method=name)
            for fold in range(config.n_folds)
            for name in config.methods
        ]
        self.check(config, windows, jobs[0])
        return jobs


class SearchRace(MethodRaceStudy[RaceConfig]):
    """Race all methods, with one policy and with one per class."""

    config_type = RaceConfig
    title = "Searches against each other"
    same_jobs_as = SAME_JOBS
    scales = race_scales(
        quick=("adda", "cadda", "classwise:fast_autoaugment"),
        full=(
            *("trivial", "guided", "auto"),
            *("adda", "dada", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
            *("randaugment", "random", "cadda", "classwise:autoaugment"),
            *("classwise:fast_autoaugment", "classwise:random"),
        ),
    )

    def panels(self, records: Records) -> Mapping[str, Records]:
        titles = {"(a) one policy for all classes": False, "(b) a policy for each class": True}
        return {
            title: [
                record
                for record in records
                if record.job.method == NO_SEARCH
                or self.variant(record.job.method).classwise == classwise
            ]
            for title, classwise in titles.items()
        }


class Ablation(MethodRaceStudy[RaceConfig]):
    """Race ADDA with variants that lack RELAX and Gumbel sampling.

    The ablation of the paper's figure 4: without RELAX (straight-through gradients), then also
    without sampling (each stage is the weighted mean of all operations), and DADA, which samples
    whole subpolicies instead of operations.
    """

    config_type = RaceConfig
    title = "ADDA without some of its parts"
    same_jobs_as = SAME_JOBS
    scales = race_scales(quick=list(VARIANTS), full=list(VARIANTS))

    def variant(self, name: str) -> MethodVariant:
        if name not in VARIANTS:
            raise ValueError(
                f"unknown variant {name!r} in `methods`{did_you_mean(name, VARIANTS)}; there are "
                f"{', '.join(VARIANTS)}."
            )
        return VARIANTS[name]


class SelectedOperations(MethodRaceStudy[RaceConfig]):
    """Examine which operations the best policies use, by method and by class.

    A figure of the paper's appendix. Class-wise methods have a row for each class.
    """

    config_type = RaceConfig
    title = "How often the best policies change a window by an operation"
    same_jobs_as = SAME_JOBS
    scales = race_scales(
        quick=("adda", "cadda"),
        full=(
            *("adda", "dada", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
            *("cadda", "classwise:autoaugment"),
        ),
    )

    def table(self, records: Records) -> ResultTable:
        use = operation_use(records)
        cells = tuple(
            (method, row, *_most_used(values, use.operations))
            for method, names in use.rows.items()
            for row, values in zip(names, use.tables[method], strict=True)
        )
        columns = ("method", "classes", "most used", "second", "third")
        return ResultTable(self.title, columns, cells, "Means over folds; the figure has all.")

    def figure(self, records: Records) -> Figure:
        return plot_selected(operation_use(records))


def _most_used(values: NDArray[np.float64], operations: Sequence[str]) -> list[str]:
    order = np.argsort(-values, kind="stable")[:N_SHOWN]
    shown = [f"{operations[i]} {values[i]:.0%}" for i in order if values[i] >= MIN_SHOWN]
    return shown + [""] * (N_SHOWN - len(shown))
