"""How sure a median over folds is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["COVERAGE", "LEAST_VALUES", "interval_of_median"]

N_RESAMPLES = 10_000
COVERAGE = 0.75
"""Of the bootstrap intervals, as in the paper."""
LEAST_VALUES = 3
"""Fewest values whose median has an interval: the true median lies between the lowest and the
highest of n values with a confidence of 1 - 2 / 2ⁿ, which of two is 50 %, of three 75 %."""


def interval_of_median(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give medians over the first axis, between the ends of their bootstrap intervals.

    Parameters
    ----------
    values : array of shape (n_runs, …)
        Values of runs. The same values always have the same interval.

    Returns
    -------
    array of shape (3, …)
        Lower end, median, upper end. The ends are not a number if there are fewer than
        `LEAST_VALUES` runs.
    """
    middle = np.median(values, axis=0)
    if len(values) < LEAST_VALUES:
        unknown = np.full_like(middle, np.nan)
        return np.stack([unknown, middle, unknown])
    drawn = np.random.default_rng(0).integers(len(values), size=(N_RESAMPLES, len(values)))
    medians = np.median(values[drawn], axis=1)
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail], axis=0)
    return np.stack([low, middle, high])
