"""Bootstrap intervals, paired tests and corrections for multiple comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "FOLD_COVERAGE",
    "MIN_FOLDS",
    "MIN_SUBJECTS",
    "Estimate",
    "Numbers",
    "PairedTest",
    "bootstrap",
    "cluster_standard_error",
    "corrected_t_test",
    "holm",
    "mean_with_error",
    "median_estimate",
    "median_interval",
    "percentile_estimate",
    "resample_counts",
    "sign_test",
    "t_test_greater",
]

FOLD_COVERAGE = 0.75
"""Coverage of intervals over folds, as in the paper."""
MIN_FOLDS = 3
"""Fewest folds whose median gets an interval: the true median lies between the lowest and the
highest of n values with a confidence of 1 - 2 / 2ⁿ, which is 50 % for two, 75 % for three."""
MIN_SUBJECTS = 6
"""Fewest subjects for a significant sign test: with five, a gain for all has p = 2 / 2⁵ > 5 %."""
N_RESAMPLES = 10_000
PERCENT = 95

Numbers: TypeAlias = NDArray[np.float64]
# NumPy's functions have overloads that no simpler type describes.
Statistic: TypeAlias = Callable[..., Any]
"""Such as `numpy.median`: takes an array and an ``axis``."""


@dataclass(frozen=True)
class Estimate:
    """A value and its interval; the ends are NaN where there is none."""

    value: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is a value at all."""
        return math.isfinite(self.value)

    @property
    def is_bounded(self) -> bool:
        """Whether there are ends of an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def has_interval(self) -> bool:
        """Whether resamples differ; if all agree, there is too little to resample."""
        return self.low < self.high


@dataclass(frozen=True)
class PairedTest:
    """A mean difference, its 95 % interval and its two-sided p-value."""

    difference: Estimate
    p_value: float


def bootstrap(
    values: Numbers, statistic: Statistic, *, coverage: float = FOLD_COVERAGE
) -> Numbers:
    """Compute a statistic over the first axis with its percentile bootstrap interval.

    The result has shape (3, …): lower end, statistic, upper end. The same values always get the
    same interval.
    """
    index = np.random.default_rng(0).integers(len(values), size=(N_RESAMPLES, len(values)))
    resampled = statistic(values[index], axis=1)
    tail = (1 - coverage) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return np.stack([low, statistic(values, axis=0), high])


def median_interval(values: Numbers) -> Numbers:
    """Compute medians over folds, the first axis, with 75 % bootstrap intervals.

    The result has shape (3, …): lower end, median, upper end; the ends are NaN with fewer than
    `MIN_FOLDS` folds.
    """
    if len(values) < MIN_FOLDS:
        median = np.median(values, axis=0)
        unknown = np.full_like(median, np.nan)
        return np.stack([unknown, median, unknown])
    return bootstrap(values, np.median)


def median_estimate(values: Sequence[float]) -> Estimate:
    """Compute the median over folds with its 75 % bootstrap interval."""
    low, median, high = map(float, median_interval(np.asarray(values, dtype=float)))
    return Estimate(median, low, high)


def percentile_estimate(value: float, resampled: Numbers) -> Estimate:
    """Combine a value with the 95 % percentile interval of its finite resamples."""
    finite = resampled[np.isfinite(resampled)]
    tail = (100 - PERCENT) / 2
    low, high = np.percentile(finite, (tail, 100 - tail)) if len(finite) else (np.nan, np.nan)
    return Estimate(float(value), float(low), float(high))


def resample_counts(
    counts: NDArray[np.int64], n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Resample tables of counts by cluster, or by observation if there is one cluster only.

    ``counts`` has shape (n_clusters, …), the result (n_resamples, …): sums over the clusters of
    each resample.
    """
    n_clusters = len(counts)
    if n_clusters > 1:
        equal = np.full(n_clusters, 1 / n_clusters)
        chosen = rng.multinomial(n_clusters, equal, size=n_resamples)
        return np.tensordot(chosen, counts, axes=1)
    total = int(counts.sum())
    resampled = rng.multinomial(total, counts.ravel() / total, size=n_resamples)
    return resampled.reshape(n_resamples, *counts.shape[1:])


def mean_with_error(values: ArrayLike) -> tuple[float, float]:
    """Compute a mean and its standard error; that of a single value is NaN."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return float(array.mean()), math.nan
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def corrected_t_test(differences: Sequence[float]) -> PairedTest:
    r"""Test the mean difference between two methods over the folds of a cross-validation.

    Folds share training subjects, so their differences d are not independent. The t-test corrected
    for that (Nadeau & Bengio, 2003) takes

    .. math:: t = \bar d \Big/ \sqrt{s^2 \left(\frac1n + \frac{1}{n - 1}\right)}

    with n folds, n - 1 being the ratio of training to test subjects.
    """
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        raise ValueError(f"`differences` must have at least two folds, got {n}.")
    array = np.asarray(differences, dtype=float)
    mean, error = float(array.mean()), float(array.std(ddof=1) * math.sqrt(1 / n + 1 / (n - 1)))
    half = float(t.ppf((1 + PERCENT / 100) / 2, n - 1)) * error
    if error == 0:
        p_value = 1.0 if mean == 0 else 0.0
    else:
        p_value = float(2 * t.sf(abs(mean / error), n - 1))
    return PairedTest(Estimate(mean, mean - half, mean + half), p_value)


def sign_test(differences: ArrayLike) -> float:
    """Test whether differences are as often positive as negative: the two-sided p-value.

    Differences of 0 are left out.
    """
    signs = np.sign(np.asarray(differences, dtype=float))
    n_positive, n_negative = int((signs > 0).sum()), int((signs < 0).sum())
    n, fewer = n_positive + n_negative, min(n_positive, n_negative)
    tail: float = sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n
    return min(1.0, 2 * tail)


def holm(p_values: ArrayLike) -> Numbers:
    """Adjust p-values of any shape for their number by Holm's method.

    If all null hypotheses are true, any adjusted p-value is below 0.05 in at most 5 % of cases.
    """
    array = np.asarray(p_values, dtype=float)
    flat = array.ravel()
    order = np.argsort(flat, kind="stable")
    factors = np.arange(len(flat), 0, -1, dtype=float)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * flat[order]), 1)
    return adjusted.reshape(array.shape)


def cluster_standard_error(terms: Numbers, n_clusters: int) -> Numbers:
    r"""Compute the standard error of a mean whose terms are clustered.

    With u the sum of (deviation / number) over each of G clusters, :math:`V = \frac{G}{G - 1}
    \sum_g u_g^2`. `terms` holds u on its last axis. The result is NaN for a single cluster.
    """
    correction = n_clusters / (n_clusters - 1) if n_clusters > 1 else math.nan
    return np.asarray(np.sqrt(correction * np.square(terms).sum(-1)))


def t_test_greater(mean: Numbers, error: Numbers, degrees: int) -> Numbers:
    """Test whether means are greater than 0: one-sided p-values of Student's t.

    Without a spread, as without a second cluster, there is no evidence either way: 0.5.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(mean / error, nan=0.0, posinf=0.0, neginf=0.0)
    return np.asarray(stdtr(degrees, -t), dtype=float)
