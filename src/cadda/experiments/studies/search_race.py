"""Which method finds how good a policy in how much time.

Figure 4 of the paper and its variants in the appendix: each search is stopped at some times, and a
model is trained from scratch with the policy found so far. The curve is the test score of the best
of these policies by validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from matplotlib.figure import Figure
from pydantic import Field, field_validator

from cadda.data.windows import Windows
from cadda.experiments.operations import chosen_operations
from cadda.experiments.racing import (
    METRICS,
    NO_SEARCH,
    Checkpoints,
    MethodVariant,
    RaceJob,
    RaceResult,
    baseline_result,
    parse_variant,
    race,
    race_panel,
    race_table,
)
from cadda.experiments.study import Names, PlanOnly, Record, Several, Study
from cadda.experiments.tables import ResultTable
from cadda.experiments.training import (
    Fold,
    TrainingConfig,
    check_training,
    make_fold,
    training_seconds,
)
from cadda.reporting.figures.race import plot_race

__all__ = ["SAME_JOBS", "MethodRaceStudy", "RaceConfig", "RaceStudy", "SearchRace", "race_scales"]

SAME_JOBS = ("search-race", "ablation", "selected-operations")
"""Studies in which the same method, fold and settings are the same job."""


class RaceConfig(TrainingConfig):
    """Settings of studies that race searches."""

    methods: PlanOnly[Names] = Field((NO_SEARCH,), min_length=1)
    """Methods to compare; `none` trains without augmentation."""
    stops: Several[float] = Field((10.0, 40.0), min_length=1)
    """Computing times in seconds at which a model is trained with the policy found so far."""
    operations: Names | None = None
    """Operations to choose from; none: all that apply to the montage."""

    @field_validator("stops")
    @classmethod
    def _increasing(cls, stops: tuple[float, ...]) -> tuple[float, ...]:
        if min(stops) <= 0 or list(stops) != sorted(set(stops)):
            raise ValueError("must be positive and increase")
        return stops


Config = TypeVar("Config", bound=RaceConfig)
Job = TypeVar("Job", bound=RaceJob)


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
        "cpu": {
            "methods": (NO_SEARCH, *full),
            "n_train": 100,
            "max_epochs": 200,
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

    def check(self, config: Config, windows: Windows) -> None:
        """Raise an error for settings that do not fit the data."""
        for name in config.methods:
            if name != NO_SEARCH:
                self.variant(name)
        chosen_operations(windows, config.operations)
        check_training(config, windows)

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

    def figure(self, records: Sequence[Record[Job, RaceResult]]) -> Figure:
        names = list(dict.fromkeys(record.job.method for record in records))
        return plot_race([[race_panel("", records, names, metric)] for metric in METRICS])


class MethodRaceStudy(RaceStudy[RaceConfig, RaceJob]):
    """Race searches with the settings and jobs that several studies share."""

    config_type = RaceConfig
    job_type = RaceJob

    def jobs(self, config: RaceConfig, windows: Windows) -> list[RaceJob]:
        self.check(config, windows)
        return [
            RaceJob(fold=fold, method=name)
            for fold in range(config.n_folds)
            for name in config.methods
        ]


class SearchRace(MethodRaceStudy):
    """Race all methods, with one policy and with one per class."""

    title = "Searches against each other"
    same_jobs_as = SAME_JOBS
    scales = race_scales(
        quick=("adda", "cadda", "classwise:fast_autoaugment"),
        full=(
            *("adda", "dada", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
            *("randaugment", "random", "cadda", "classwise:autoaugment"),
            *("classwise:fast_autoaugment", "classwise:random"),
        ),
    )

    def figure(self, records: Sequence[Record[RaceJob, RaceResult]]) -> Figure:
        names = list(dict.fromkeys(record.job.method for record in records))
        searches = [name for name in names if name != NO_SEARCH]
        groups = {
            "(a) one policy for all classes": [
                name for name in searches if not self.variant(name).classwise
            ],
            "(b) a policy for each class": [
                name for name in searches if self.variant(name).classwise
            ],
        }
        return plot_race(
            [
                [race_panel(title, records, group, metric) for title, group in groups.items()]
                for metric in METRICS
            ]
        )


STUDY = SearchRace()
