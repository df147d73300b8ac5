"""Which method finds how good a policy in how much time.

Figure 4 of the paper and its forms in the appendix: each search is stopped every now and then, a
model is trained from scratch with the policy found so far, and the test score of the best of these
by validation stands until a better one comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from matplotlib.figure import Figure
from pydantic import Field, field_validator

from cadda.data.windows import Windows
from cadda.experiments.operations import chosen_operations
from cadda.experiments.race_results import METRICS, race_panel, race_table
from cadda.experiments.racing import NO_SEARCH, Contestant, Course, no_race, parse_contestant, race
from cadda.experiments.study import Job, Names, Planned, Record, Result, Several, Study
from cadda.experiments.tables import Table
from cadda.experiments.training import (
    Fold,
    TrainingConfig,
    check_training,
    fold_of,
    seconds_of,
)
from cadda.reporting.figures.race import plot_race

__all__ = ["SAME_JOBS", "RaceConfig", "RaceStudy", "SearchRace", "race_scales"]

SAME_JOBS = ("search-race", "ablation", "selected-operations")
"""Studies in which a method, a fold and the same settings mean the same job."""


class RaceConfig(TrainingConfig):
    """Settings of studies that race searches."""

    methods: Planned[Names] = Field((NO_SEARCH,), min_length=1)
    """What is compared; `none` trains without augmentation."""
    stops: Several[float] = Field((10.0, 40.0), min_length=1)
    """Seconds of computing after which a model is trained with the policy found so far."""
    operations: Names | None = None
    """Operations to choose from; none: all that mean something on the montage."""

    @field_validator("stops")
    @classmethod
    def _rising(cls, stops: tuple[float, ...]) -> tuple[float, ...]:
        if min(stops) <= 0 or list(stops) != sorted(set(stops)):
            raise ValueError("must be positive and rise")
        return stops


Config = TypeVar("Config", bound=RaceConfig)


def race_scales(quick: Sequence[str], full: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give the scales of a race.

    Parameters
    ----------
    quick : sequence of str
        Methods of the smallest scale, beside no augmentation.
    full : sequence of str
        Methods of the others.

    Returns
    -------
    dict of str to dict
        Settings by scale.
    """
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


class RaceStudy(Study[Config]):
    """Races searches, a job per fold and contestant; its subclasses say which."""

    title: ClassVar[str]
    """What the table is called."""

    def contestant(self, name: str) -> Contestant:
        """Say what a name stands for.

        Parameters
        ----------
        name : str
            One of the methods of the settings, but not ``"none"``.

        Returns
        -------
        Contestant
            How to search; an unknown name raises `ValueError`.
        """
        return parse_contestant(name)

    def fold(self, config: Config, windows: Windows, job: Job) -> Fold:
        """Give the data of a job.

        Parameters
        ----------
        config : RaceConfig
            The settings.
        windows : Windows
            All windows.
        job : dict
            One of the jobs.

        Returns
        -------
        Fold
            What to train on, to judge by and to test on.
        """
        return fold_of(config, windows, job["fold"])

    def jobs(self, config: Config, windows: Windows) -> list[Job]:
        for name in config.methods:
            if name != NO_SEARCH:
                self.contestant(name)
        chosen_operations(windows, config.operations)
        check_training(config, windows)
        return [
            {"fold": fold, "method": name}
            for fold in range(config.n_folds)
            for name in config.methods
        ]

    def expected_seconds(self, config: Config, windows: Windows, job: Job) -> float:
        one = seconds_of(config, windows)
        return one if job["method"] == NO_SEARCH else config.stops[-1] + one * len(config.stops)

    def run(self, config: Config, windows: Windows, job: Job) -> Result:
        fold, name = self.fold(config, windows, job), job["method"]
        if name == NO_SEARCH:
            return no_race(config, fold)
        course = Course(config.stops)
        return race(self.contestant(name), config, fold, course, config.operations)

    def table(self, records: Sequence[Record]) -> Table:
        return race_table(self.title, records)

    def figure(self, records: Sequence[Record]) -> Figure:
        names = list(dict.fromkeys(record.job["method"] for record in records))
        return plot_race([[race_panel("", records, names, metric)] for metric in METRICS])


class SearchRace(RaceStudy[RaceConfig]):
    """All methods against each other, with one policy and with one per class."""

    config_type = RaceConfig
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

    def figure(self, records: Sequence[Record]) -> Figure:
        names = list(dict.fromkeys(record.job["method"] for record in records))
        searches = [name for name in names if name != NO_SEARCH]
        groups = {
            "(a) one policy for all classes": [
                name for name in searches if not self.contestant(name).classwise
            ],
            "(b) a policy for each class": [
                name for name in searches if self.contestant(name).classwise
            ],
        }
        return plot_race(
            [
                [race_panel(title, records, group, metric) for title, group in groups.items()]
                for metric in METRICS
            ]
        )


STUDY = SearchRace()
