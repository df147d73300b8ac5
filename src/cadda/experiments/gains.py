"""Scores over folds, compared with those without augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cadda.reporting.intervals import interval_of_median

__all__ = ["Interval", "median_interval", "relative_gain"]


@dataclass(frozen=True)
class Interval:
    """A median over folds and how sure it is.

    Parameters
    ----------
    median : float
        The median.
    low : float
        Lower end of its interval.
    high : float
        Upper end of its interval.
    n : int
        Number of folds.
    """

    median: float
    low: float
    high: float
    n: int


def relative_gain(score: float, baseline: float) -> float:
    """Say how much better a score is, as the paper does.

    Parameters
    ----------
    score : float
        Score with augmentation.
    baseline : float
        Score without.

    Returns
    -------
    float
        Difference in parts of the baseline; NaN if that is 0.
    """
    return (score - baseline) / baseline if baseline else float("nan")


def median_interval(values: Sequence[float]) -> Interval:
    """Take the median over folds, with its bootstrap interval.

    Parameters
    ----------
    values : sequence of float
        One value per fold.

    Returns
    -------
    Interval
        The median and where it lies with a confidence of 75 %.
    """
    low, median, high = map(float, interval_of_median(np.asarray(values, dtype=float)))
    return Interval(median, low, high, len(values))
