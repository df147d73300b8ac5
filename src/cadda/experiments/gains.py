"""Scores over folds, compared with those without augmentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cadda.experiments.operations import NO_OPERATION
from cadda.experiments.study import Job, Record
from cadda.reporting.figures.gains import Curve
from cadda.reporting.figures.intervals import COVERAGE, LEAST_VALUES, interval_of_median

__all__ = [
    "GAIN_COLUMNS",
    "Interval",
    "curve_of",
    "gain_cells",
    "gains_of",
    "median_interval",
    "note_of",
    "relative_gain",
]

GAIN_COLUMNS = ("gain (%)", "from", "to", "folds")
"""Columns of tables with `gain_cells`."""


@dataclass(frozen=True)
class Interval:
    """A median over folds and how sure it is.

    Parameters
    ----------
    median : float
        The median.
    low : float
        Lower end of its interval; not a number if there are too few folds for one.
    high : float
        Upper end of its interval.
    n : int
        Number of folds.
    """

    median: float
    low: float
    high: float
    n: int

    @property
    def is_known(self) -> bool:
        """Whether there are enough folds for an interval."""
        return self.n >= LEAST_VALUES


def relative_gain(score: float, baseline: float) -> float:
    """Say how much better a score is, as the paper does.

    Parameters
    ----------
    score : float
        Score with augmentation.
    baseline : float
        Score without, above 0.

    Returns
    -------
    float
        Difference in parts of the baseline.
    """
    return (score - baseline) / baseline


def median_interval(values: Sequence[float]) -> Interval:
    """Take the median over folds, with its bootstrap interval.

    Parameters
    ----------
    values : sequence of float
        One value per fold.

    Returns
    -------
    Interval
        The median and where it lies with a confidence of 75 %, if there are three folds or more.
    """
    low, median, high = map(float, interval_of_median(np.asarray(values, dtype=float)))
    return Interval(median, low, high, len(values))


def note_of(values: Iterable[Sequence[float]]) -> str:
    """Say what tables have of values over folds.

    Parameters
    ----------
    values : iterable of sequence of float
        All that are in the table, each with one value per fold.

    Returns
    -------
    str
        That it is the median, and its interval if any has one.
    """
    words = "median over folds"
    if any(len(one) >= LEAST_VALUES for one in values):
        words += f", and its interval with a confidence of {100 * COVERAGE:g} %"
    return words


def gains_of(records: Iterable[Record], *, within: Sequence[str]) -> list[tuple[Job, float]]:
    """Compare the balanced accuracy of each operation with that of none.

    Parameters
    ----------
    records : iterable of Record
        Trainings; their jobs have an ``operation``.
    within : sequence of str
        What else an operation and its baseline must have in common, such as the fold.

    Returns
    -------
    list of (dict, float)
        Jobs with an operation, and their relative gains; without those whose baseline is missing.
    """
    scores = [(record.job, record.result["balanced_accuracy"]) for record in records]
    baselines = {
        tuple(job[name] for name in within): score
        for job, score in scores
        if job["operation"] == NO_OPERATION
    }
    pairs = [
        (job, score, baselines.get(tuple(job[name] for name in within)))
        for job, score in scores
        if job["operation"] != NO_OPERATION
    ]
    return [(job, relative_gain(score, baseline)) for job, score, baseline in pairs if baseline]


def curve_of(gains: Mapping[float, Sequence[float]]) -> Curve:
    """Take medians over folds.

    Parameters
    ----------
    gains : mapping of float to sequence of float
        One gain per fold, by where they were measured.

    Returns
    -------
    Curve
        For the figure.
    """
    x = sorted(gains)
    intervals = [median_interval(gains[place]) for place in x]
    return Curve(
        x,
        [one.median for one in intervals],
        [one.low for one in intervals],
        [one.high for one in intervals],
    )


def gain_cells(gains: Sequence[float]) -> tuple[float, float | None, float | None, int]:
    """Write gains over folds for a table.

    Parameters
    ----------
    gains : sequence of float
        One gain per fold.

    Returns
    -------
    tuple
        Median and interval in percent, and the number of folds; None where there is no interval.
    """
    one = median_interval(gains)
    ends = (100 * one.low, 100 * one.high) if one.is_known else (None, None)
    return 100 * one.median, *ends, one.n
