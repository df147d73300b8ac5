"""Methods against each other on a user's own data, by cross-validation.

Each fold holds out other subjects, so that everybody is tested once. Every search may compute for
the same time; then a model is trained with its policy and tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import median
from typing import Any, ClassVar

from matplotlib.figure import Figure
from pydantic import Field

from cadda._internal.random import Seeds
from cadda.data.splits import split_subjects, subject_folds
from cadda.data.windows import Windows
from cadda.experiments.comparisons import Comparison, compare_with_baseline, recommendation
from cadda.experiments.racing import NO_SEARCH, parse_contestant
from cadda.experiments.studies.search_race import RaceConfig, RaceStudy, race_scales
from cadda.experiments.study import Job, Names, Planned, Record, Several
from cadda.experiments.tables import Table
from cadda.experiments.training import Fold
from cadda.reporting.figures.comparison import plot_comparison

__all__ = ["Compare", "CompareConfig"]

METRIC = "balanced_accuracy"


class CompareConfig(RaceConfig):
    """Settings of a comparison."""

    methods: Planned[Names] = Field((NO_SEARCH, "adda", "cadda"), min_length=1)
    """What is compared; `none` trains without augmentation."""
    n_folds: int = Field(5, ge=2)
    """Number of folds by subject; everybody is tested in one of them."""
    stops: Several[float] = Field((120.0,), min_length=1, max_length=1)
    """Seconds of computing of each search."""


class Compare(RaceStudy[CompareConfig]):
    """A job per fold and method."""

    config_type = CompareConfig
    title = "Balanced accuracy on subjects that were held out"
    scales: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {**race_scales(("adda",), ())["quick"], "stops": (0.2,), "n_folds": 2},
        "cpu": {},
        "paper": {"stops": (28800.0,)},
    }

    def jobs(self, config: CompareConfig, windows: Windows) -> list[Job]:
        self.fold(config, windows, {"fold": 0})
        return super().jobs(config, windows)

    def fold(self, config: CompareConfig, windows: Windows, job: Job) -> Fold:
        folds = subject_folds(windows, config.n_folds, seed=config.seed)
        rest, test = next(islice(folds, job["fold"], None))
        seed = Seeds(config.seed).integer("fold", fold=job["fold"])
        # A fraction of all subjects, as elsewhere, not of those that are left.
        share = config.valid * len(windows.subjects) / len(rest.subjects)
        train, valid = split_subjects(rest, (min(share, 0.5),), seed=seed)
        return Fold(train, valid, test, seed)

    def table(self, records: Sequence[Record]) -> Table:
        scores = paired_scores(records)
        found = {one.name: one for one in comparisons(records)}
        rows = []
        for name, by_fold in scores.items():
            values = list(by_fold.values())
            one = found.get(name)
            rows.append(
                (
                    *(name, len(values), sum(values) / len(values), min(values), max(values)),
                    *(
                        (None, None, None)
                        if one is None
                        else (one.gain, f"{one.low:+.3f} to {one.high:+.3f}", one.p_value)
                    ),
                    None if name == NO_SEARCH else steps_of(records, name),
                )
            )
        columns = ("method", "folds", "mean", "lowest", "highest", "gain", "95 %", "p", "steps")
        words = (self.sentence(records), *cautions(records))
        return Table(self.title, columns, tuple(rows), " ".join(words))

    def sentence(self, records: Sequence[Record]) -> str:
        """Say what to do.

        Parameters
        ----------
        records : sequence of Record
            Finished jobs.

        Returns
        -------
        str
            A sentence; says what is missing if there is nothing to compare yet.
        """
        found = comparisons(records)
        if not found:
            return (
                "To recommend a method, at least two folds of it and of `none` are needed, and "
                "`none` must be among `methods` (--methods)."
            )
        return recommendation(found, len(paired_scores(records)[found[0].name]))

    def figure(self, records: Sequence[Record]) -> Figure:
        return plot_comparison(
            paired_scores(records),
            NO_SEARCH,
            "balanced accuracy",
            {one.name: (one.low, one.high) for one in comparisons(records)},
        )


def paired_scores(records: Sequence[Record]) -> dict[str, dict[int, float]]:
    """Give the test scores of those folds that are finished for all methods.

    Parameters
    ----------
    records : sequence of Record
        Finished jobs.

    Returns
    -------
    dict of str to dict of int to float
        Scores by method and fold. If no fold is finished for all, those that there are.
    """
    scores: dict[str, dict[int, float]] = {}
    for record in records:
        point = record.result["points"][-1]
        scores.setdefault(record.job["method"], {})[record.job["fold"]] = point[METRIC]
    common = set.intersection(*(set(one) for one in scores.values()))
    if not common:
        return scores
    return {name: {fold: one[fold] for fold in sorted(common)} for name, one in scores.items()}


def steps_of(records: Sequence[Record], method: str) -> int:
    """Say how far searches came.

    Parameters
    ----------
    records : sequence of Record
        Finished jobs.
    method : str
        The method.

    Returns
    -------
    int
        Median over folds of the number of epochs or trials.
    """
    ends = [one.result["points"][-1] for one in records if one.job["method"] == method]
    return int(median(end["number"] for end in ends))


def cautions(records: Sequence[Record]) -> list[str]:
    """Say what else than the methods makes the difference.

    Parameters
    ----------
    records : sequence of Record
        Finished jobs.

    Returns
    -------
    list of str
        Sentences.
    """
    methods = list(dict.fromkeys(one.job["method"] for one in records))
    searches = {name: parse_contestant(name) for name in methods if name != NO_SEARCH}
    said = [
        f"{name} ended within its warm-up of {one.warmup_epochs} epochs, so that its policy is "
        "still where it began: give it more time (--seconds)."
        for name, one in searches.items()
        if steps_of(records, name) <= one.warmup_epochs
    ]
    if {one.classwise for one in searches.values()} == {True, False}:
        said.append(
            "Training with a policy for each class keeps every window beside an augmented copy; "
            "training with one for all replaces it. That is part of the difference."
        )
    return said


def comparisons(records: Sequence[Record]) -> list[Comparison]:
    """Compare all methods with none, as far as they are finished.

    Parameters
    ----------
    records : sequence of Record
        Finished jobs.

    Returns
    -------
    list of Comparison
        Empty if there are not two folds of both yet.
    """
    scores = paired_scores(records)
    plain = scores.pop(NO_SEARCH, {})
    same = all(list(one) == list(plain) for one in scores.values())
    if len(plain) < 2 or not scores or not same:
        return []
    return compare_with_baseline(
        list(plain.values()), {name: list(one.values()) for name, one in scores.items()}
    )


STUDY = Compare()
