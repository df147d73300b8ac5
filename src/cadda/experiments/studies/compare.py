"""Methods against each other on a user's own data, by cross-validation.

Each fold holds out other subjects, so that each subject is tested once. Every search gets the same
computing time; then a model is trained with its policy and tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import ClassVar

from matplotlib.figure import Figure
from pydantic import Field

from cadda._internal.random import Seeds
from cadda._internal.statistics import corrected_t_test, holm
from cadda.data.splits import split_subjects, subject_folds
from cadda.data.windows import Windows
from cadda.experiments.racing import NO_SEARCH, RaceJob, RaceResult, parse_variant
from cadda.experiments.studies.search_race import MethodRaceStudy, RaceConfig, race_scales
from cadda.experiments.study import Cell, Names, PlanOnly, Record, ResultTable, Several
from cadda.experiments.training import Fold
from cadda.reporting.figures.gains import plot_comparison

__all__ = ["Compare", "CompareConfig"]

SIGNIFICANT = 0.05

Records = Sequence[Record[RaceJob, RaceResult]]


class CompareConfig(RaceConfig):
    """Settings of a comparison."""

    methods: PlanOnly[Names] = Field((NO_SEARCH, "adda", "cadda"), min_length=1)
    """Methods to compare; `none` trains without augmentation."""
    n_folds: int = Field(5, ge=2)
    """Number of folds by subject; each subject is tested in one of them."""
    stops: Several[float] = Field((120.0,), min_length=1, max_length=1)
    """Computing time of each search in seconds."""


class Compare(MethodRaceStudy[CompareConfig]):
    """A job per fold and method."""

    config_type = CompareConfig
    title = "Balanced accuracy on held-out subjects"
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {**race_scales(("adda",), ())["quick"], "stops": (0.2,), "n_folds": 2},
        "cpu": {},
        "paper": {"stops": (28800.0,)},
    }

    def fold(self, config: CompareConfig, windows: Windows, job: RaceJob) -> Fold:
        folds = subject_folds(windows, config.n_folds, seed=config.seed)
        rest, test = next(islice(folds, job.fold, None))
        seed = Seeds(config.seed).integer("fold", fold=job.fold)
        # A fraction of all subjects, as elsewhere, not of those that are left.
        share = config.valid * len(windows.subjects) / len(rest.subjects)
        train, valid = split_subjects(rest, (min(share, 0.5),), seed=seed)
        return Fold(train, valid, test, seed)

    def table(self, records: Records) -> ResultTable:
        by_name = {comparison.name: comparison for comparison in comparisons(records)}
        rows = tuple(
            _row(records, name, list(by_fold.values()), by_name.get(name))
            for name, by_fold in paired_scores(records).items()
        )
        columns = ("method", "folds", "mean", "lowest", "highest", "gain", "95 %", "p", "steps")
        note = " ".join((self.conclusion(records), *caveats(records)))
        return ResultTable(self.title, columns, rows, note)

    def conclusion(self, records: Records) -> str:
        """Recommend a method in a sentence, or explain what is missing for that."""
        compared = comparisons(records)
        if not compared:
            return (
                "To recommend a method, at least two folds of it and of `none` are needed, and "
                "`methods` must contain `none`."
            )
        return recommendation(compared, len(paired_scores(records)[compared[0].name]))

    def figure(self, records: Records) -> Figure:
        return plot_comparison(
            paired_scores(records),
            NO_SEARCH,
            "balanced accuracy",
            {
                comparison.name: (comparison.low, comparison.high)
                for comparison in comparisons(records)
            },
        )


def _row(
    records: Records, name: str, values: Sequence[float], comparison: Comparison | None
) -> tuple[Cell, ...]:
    tested: tuple[Cell, ...] = (None, None, None)
    if comparison is not None:
        interval = f"{comparison.low:+.3f} to {comparison.high:+.3f}"
        tested = (comparison.gain, interval, comparison.p_value)
    return (
        *(name, len(values), sum(values) / len(values), min(values), max(values)),
        *tested,
        None if name == NO_SEARCH else median_steps(records, name),
    )


def paired_scores(records: Records) -> dict[str, dict[int, float]]:
    """Return test scores by method and fold, of the folds that all methods have finished.

    If there is no such fold, all scores are returned.
    """
    scores: dict[str, dict[int, float]] = {}
    for record in records:
        score = record.result.points[-1].balanced_accuracy
        scores.setdefault(record.job.method, {})[record.job.fold] = score
    common = set.intersection(*(set(by_fold) for by_fold in scores.values()))
    if not common:
        return scores
    return {
        name: {fold: by_fold[fold] for fold in sorted(common)} for name, by_fold in scores.items()
    }


def median_steps(records: Records, method: str) -> int:
    """Return the median number of epochs or trials of a method over folds."""
    ends = [record.result.points[-1] for record in records if record.job.method == method]
    return int(median(end.number for end in ends))


def caveats(records: Records) -> list[str]:
    """Return sentences on what, apart from the methods, affects the comparison."""
    methods = list(dict.fromkeys(record.job.method for record in records))
    searches = {name: parse_variant(name) for name in methods if name != NO_SEARCH}
    sentences = [
        f"{name} ended within its warm-up of {variant.warmup} epochs, so its policy has "
        "not changed yet: give it more computing time (`stops`)."
        for name, variant in searches.items()
        if median_steps(records, name) <= variant.warmup
    ]
    if {variant.classwise for variant in searches.values()} == {True, False}:
        sentences.append(
            "Training with a policy per class keeps every window beside an augmented copy; "
            "training with one policy for all replaces it. That is part of the difference."
        )
    return sentences


def comparisons(records: Records) -> list[Comparison]:
    """Compare all methods with none; empty until two folds of both are finished."""
    scores = paired_scores(records)
    baseline = scores.pop(NO_SEARCH, {})
    is_paired = all(list(by_fold) == list(baseline) for by_fold in scores.values())
    if len(baseline) < 2 or not scores or not is_paired:
        return []
    return compare_with_baseline(
        list(baseline.values()), {name: list(folds.values()) for name, folds in scores.items()}
    )


@dataclass(frozen=True)
class Comparison:
    """A method compared with no augmentation over the same folds.

    The 95 % interval is clipped to [-1, 1]: no two scores differ by more. The two-sided p-value is
    adjusted for the number of methods.
    """

    name: str
    gain: float
    low: float
    high: float
    p_value: float


def compare_with_baseline(
    baseline: Sequence[float], scores: Mapping[str, Sequence[float]]
) -> list[Comparison]:
    """Compare methods with the baseline, fold by fold, by the corrected paired t-test."""
    if len(baseline) < 2:
        raise ValueError(
            f"`baseline` must have the scores of at least two folds, got {len(baseline)}."
        )
    tests = {
        name: corrected_t_test([b - a for a, b in zip(baseline, values, strict=True)])
        for name, values in scores.items()
    }
    adjusted = holm([test.p_value for test in tests.values()])
    return [
        Comparison(
            name,
            test.difference.value,
            max(-1.0, test.difference.low),
            min(1.0, test.difference.high),
            float(p_value),
        )
        for (name, test), p_value in zip(tests.items(), adjusted, strict=True)
    ]


def recommendation(comparisons: Sequence[Comparison], n_folds: int) -> str:
    """Recommend the best method, with its gain, interval and p-value."""
    best = max(comparisons, key=lambda comparison: comparison.gain)
    n_methods = f"{len(comparisons)} method{'s' if len(comparisons) > 1 else ''}"
    numbers = (
        f"{best.gain:+.3f} balanced accuracy over no augmentation (95 % interval {best.low:+.3f} "
        f"to {best.high:+.3f}, p = {best.p_value:.3g} over {n_folds} folds, adjusted for "
        f"{n_methods})"
    )
    is_significant = best.p_value < SIGNIFICANT
    if best.gain <= 0:
        doubt = "" if is_significant else f", although {n_folds} folds cannot exclude a gain"
        return (
            f"Train without augmentation: no method improved on it{doubt}. The closest is "
            f"{best.name}, {numbers}."
        )
    if is_significant:
        return f"Use {best.name}: {numbers}."
    return (
        f"{best.name} is best, but not significantly better than no augmentation: {numbers}. More "
        "subjects or folds are needed to decide."
    )
