"""Shares of windows and their differences, with standard errors clustered by subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import Numbers, cluster_standard_error, t_test_greater

__all__ = ["LEVEL", "Clustered", "class_shares"]

LEVEL = 0.025
"""One-sided level of tests and of the ends of intervals: two standard errors in large samples."""


@dataclass(frozen=True, eq=False)
class Clustered:
    """Means over windows, or sums and differences of such means.

    Parameters
    ----------
    value : array of shape (...)
        The means.
    terms : array of shape (..., n_subjects)
        What each subject adds to the deviation of the mean: (its sum − its number of windows ×
        mean) / number of all windows.
    n_clusters : int
        Number of subjects that count as independent.
    resolution : float
        Smallest standard error: that of one window more or less. Where all windows agree, their
        spread says nothing about the next one.
    """

    value: Numbers
    terms: Numbers
    n_clusters: int
    resolution: float

    def __getitem__(self, index: Any) -> Clustered:
        return replace(self, value=self.value[index], terms=self.terms[index])

    def __sub__(self, other: Clustered) -> Clustered:
        return replace(self, value=self.value - other.value, terms=self.terms - other.terms)

    def times(self, factor: float) -> Clustered:
        """Multiply by a number."""
        return replace(self, value=factor * self.value, terms=factor * self.terms)

    def mean(self, axis: int) -> Clustered:
        """Return the means over an axis, counted from the front, as an axis of length one."""
        value, terms = (part.mean(axis, keepdims=True) for part in (self.value, self.terms))
        return replace(self, value=value, terms=terms)

    @property
    def error(self) -> Numbers:
        """Standard errors."""
        errors = cluster_standard_error(self.terms, self.n_clusters)
        return np.maximum(errors, self.resolution)

    @property
    def cautious(self) -> Numbers:
        """Values less one standard error: what is not reached by luck alone."""
        return self.value - self.error

    @property
    def low(self) -> Numbers:
        """Lower ends of 95 % intervals of Student's t."""
        return self.value - self._half

    @property
    def high(self) -> Numbers:
        """Upper ends of 95 % intervals of Student's t."""
        return self.value + self._half

    @property
    def _half(self) -> Numbers:
        from scipy.special import stdtrit

        half: Numbers = self.error * stdtrit(self.n_clusters - 1, 1 - LEVEL)
        return half

    @property
    def p_above(self) -> Numbers:
        """One-sided p-values of means above 0."""
        return t_test_greater(self.value, self.error, self.n_clusters - 1)


def class_shares(counts: NDArray[np.int64], n_windows: NDArray[np.int64]) -> Clustered:
    """Compute the share of the windows of each class that are taken for each class.

    Parameters
    ----------
    counts : array of shape (n_conditions, n_subjects, n_classes, n_classes)
        Number of predictions; rows are the true classes, columns the predicted ones.
    n_windows : array of shape (n_subjects, n_classes)
        Number of windows. Counts may be multiples of it, as windows are transformed repeatedly.

    Returns
    -------
    Clustered
        Shares of shape (n_conditions, n_classes, n_classes).
    """
    of_class = counts.sum(-1, keepdims=True)
    total = of_class.sum(1, keepdims=True)
    share = counts.sum(1, keepdims=True) / total
    terms = (counts - share * of_class) / total
    return Clustered(
        share.squeeze(1),
        np.moveaxis(terms, 1, -1),
        n_clusters=int((n_windows > 0).sum(0).min()),
        resolution=1 / int(n_windows.sum(0).min()),
    )
