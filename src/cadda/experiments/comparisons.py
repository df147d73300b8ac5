"""Scores over folds, compared with those without augmentation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cadda._internal.statistics import (
    FOLD_COVERAGE,
    MIN_FOLDS,
    corrected_t_test,
    holm,
    median_estimate,
)
from cadda.experiments.operations import NO_OPERATION
from cadda.experiments.study import Record
from cadda.experiments.training import OperationJob, TrainingScores
from cadda.reporting.figures.gains import Curve

__all__ = [
    "GAIN_COLUMNS",
    "Comparison",
    "compare_with_baseline",
    "gain_cells",
    "gain_curve",
    "interval_note",
    "recommendation",
    "relative_gain",
    "relative_gains",
]

GAIN_COLUMNS = ("gain (%)", "from", "to", "folds")
"""Columns of tables with `gain_cells`."""
SIGNIFICANT = 0.05

SomeJob = TypeVar("SomeJob", bound=OperationJob)


def relative_gain(score: float, baseline: float) -> float:
    """Return a gain in parts of the baseline, as the paper does."""
    return (score - baseline) / baseline


def relative_gains(
    records: Iterable[Record[SomeJob, TrainingScores]], group: Callable[[SomeJob], Hashable]
) -> list[tuple[SomeJob, float]]:
    """Compute the relative gain in balanced accuracy of each operation over none.

    An operation and its baseline are of the same ``group``, such as the fold. Jobs whose baseline
    is missing are left out.
    """
    scores = [(record.job, record.result.balanced_accuracy) for record in records]
    baselines = {group(job): score for job, score in scores if job.operation == NO_OPERATION}
    return [
        (job, relative_gain(score, baseline))
        for job, score in scores
        if job.operation != NO_OPERATION and (baseline := baselines.get(group(job)))
    ]


def gain_curve(gains: Mapping[float, Sequence[float]]) -> Curve:
    """Compute medians over folds with intervals; ``gains`` are by place, one value per fold."""
    x = sorted(gains)
    estimates = [median_estimate(gains[place]) for place in x]
    return Curve(
        x,
        [estimate.value for estimate in estimates],
        [estimate.low for estimate in estimates],
        [estimate.high for estimate in estimates],
    )


def gain_cells(gains: Sequence[float]) -> tuple[float, float | None, float | None, int]:
    """Return the cells of `GAIN_COLUMNS`: median, its interval, number of folds."""
    gain = median_estimate(gains)
    ends = (100 * gain.low, 100 * gain.high) if gain.is_bounded else (None, None)
    return 100 * gain.value, *ends, len(gains)


def interval_note(values: Iterable[Sequence[float]]) -> str:
    """Describe values over folds in a table: medians, with intervals if any has enough folds."""
    note = "median over folds"
    if any(len(folds) >= MIN_FOLDS for folds in values):
        note += f" with its {100 * FOLD_COVERAGE:g} % bootstrap interval"
    return note


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
