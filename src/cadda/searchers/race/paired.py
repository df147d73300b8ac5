"""Statistics of a race: differences between candidates within blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import (
    Estimate,
    Numbers,
    cluster_standard_error,
    holm,
    mean_with_error,
    t_test_greater,
)
from cadda.reporting.race import COVERAGE
from cadda.searchers.race.blocks import Block, RunScore

__all__ = [
    "LEVEL",
    "AccuracyGain",
    "accuracy_gain",
    "clustered_gain",
    "is_worse",
    "loss_gains",
    "subject_gains",
    "within_one_error",
]

LEVEL = 0.05
"""Level of all tests."""
PRIOR_DEGREES = 6.0
"""Weight of the typical variance in that of each candidate, in degrees of freedom.

Three blocks say little about the variance of a difference, which is much the same for most.
"""


def loss_gains(scores: Sequence[RunScore], reference: Sequence[RunScore]) -> Numbers:
    """Return by how much the logarithm of the loss is lower, in each block that both have."""
    losses = ((run.loss, plain.loss) for run, plain in zip(scores, reference, strict=False))
    return np.array([math.log(plain) - math.log(loss) for loss, plain in losses])


def is_worse(gains: Numbers) -> NDArray[np.bool_]:
    r"""Test whether candidates are worse than the one with the largest mean gain.

    Differences to the best are tested by moderated t-tests (Smyth, 2004): their variance is
    :math:`(f s^2 + f_0 s_0^2) / (f + f_0)` with :math:`f` degrees of freedom of their own and
    :math:`f_0` of the median variance :math:`s_0^2`. P-values are corrected by Holm's method.

    Parameters
    ----------
    gains : array of shape (n_candidates, n_blocks)
        Gains over no augmentation in the same blocks.

    Returns
    -------
    array of shape (n_candidates,)
        Whether each is worse at the 5 % level. The best never is.
    """
    n_candidates, n_blocks = gains.shape
    best = int(gains.mean(1).argmax())
    others = np.arange(n_candidates) != best
    worse = np.zeros(n_candidates, dtype=bool)
    if n_candidates < 2:
        return worse
    lead = gains[best] - gains[others]
    finite = np.isfinite(lead).all(1)
    variance = np.where(finite, np.var(np.where(np.isfinite(lead), lead, 0.0), axis=1, ddof=1), 0)
    typical = np.median(variance[finite]) if finite.any() else 0.0
    degrees = n_blocks - 1
    pooled = (degrees * variance + PRIOR_DEGREES * typical) / (degrees + PRIOR_DEGREES)
    mean = np.where(finite, lead.mean(1), np.inf)
    p_value = t_test_greater(mean, np.sqrt(pooled / n_blocks), degrees + PRIOR_DEGREES)
    worse[others] = (holm(np.where(finite, p_value, 0.0)) < LEVEL) | ~finite
    return worse


def within_one_error(gains: Numbers) -> NDArray[np.bool_]:
    """Return which candidates are at most one standard error worse than the best.

    The error is that of the difference to the best, over the blocks or subjects of ``gains``, an
    array of shape (n_candidates, n_blocks).
    """
    best = int(gains.mean(1).argmax())
    lead = gains[best] - gains
    error = np.array([mean_with_error(row)[1] for row in lead])
    close: NDArray[np.bool_] = lead.mean(1) <= np.nan_to_num(error)
    return close


@dataclass(frozen=True)
class AccuracyGain:
    """A gain in balanced accuracy, with its standard error."""

    value: float
    error: float  # NaN for a single subject or block
    n_subjects: int
    degrees: int  # of freedom of the error

    @property
    def interval(self) -> Estimate:
        """The gain with its 90 % interval of Student's t, NaN where there is no error.

        No accuracy changes by more than 1, whatever the error of few blocks is. An error of 0 is
        that of a few windows which happen to agree; only where no window changes, it is real.
        """
        from scipy.special import stdtrit

        error = math.nan if self.error == 0 and self.value != 0 else self.error
        half = error * float(stdtrit(max(self.degrees, 1), (1 + COVERAGE) / 2))
        low, high = self.value - half, self.value + half
        # NaN stays.
        return Estimate(self.value, -1.0 if low < -1 else low, 1.0 if high > 1 else high)

    @property
    def is_gain(self) -> bool:
        """Whether the whole interval is above 0."""
        return math.isfinite(self.error) and self.interval.low > 0


def accuracy_gain(
    scores: Sequence[RunScore],
    reference: Sequence[RunScore],
    blocks: Sequence[Block],
    n_windows: dict[str, NDArray[np.int64]],
) -> AccuracyGain:
    """Compute the gain in balanced accuracy over a reference in the same blocks.

    Subjects differ, and so do training runs, whose luck all subjects of a block share. The
    variance is the sum of that over subjects and that over blocks. The spread within blocks is in
    both; it is not subtracted once, since the candidate was chosen with the same subjects.

    ``n_windows`` has the windows of each class, by subject; see `clustered_gain`.
    """
    subjects = sorted(n_windows)
    place = {name: i for i, name in enumerate(subjects)}
    shape = (len(blocks), len(subjects), len(n_windows[subjects[0]]))
    gained, total = np.zeros(shape), np.zeros(shape)
    for number, (run, plain, block) in enumerate(zip(scores, reference, blocks, strict=True)):
        rows = [place[name] for name in block.valid]
        gained[number, rows] = np.subtract(run.correct, plain.correct)
        total[number, rows] = [n_windows[name] for name in block.valid]
    over_subjects = clustered_gain(gained.sum(0), total.sum(0))
    over_blocks = clustered_gain(gained.sum(1), total.sum(1))
    return replace(
        over_subjects,
        error=math.hypot(over_subjects.error, over_blocks.error),
        degrees=min(over_subjects.degrees, over_blocks.degrees),
    )


def clustered_gain(gained: Numbers, total: Numbers, *, n_train: int | None = None) -> AccuracyGain:
    r"""Compute a gain in balanced accuracy with its standard error over subjects.

    With u the contribution of a subject to the deviation of the mean (see
    `cluster_standard_error`), the variance over n subjects is

    .. math:: \Big(1 + \frac{n}{n_\mathrm{train}}\Big) \frac{n}{n - 1} \sum u^2 ,

    where the factor accounts for training subjects that models share (Nadeau & Bengio, 2003).
    Where subjects are tested several times, by models of different training subjects, the spread
    over subjects includes most of that, and the factor would make intervals too wide.

    Parameters
    ----------
    gained : array of shape (n_subjects, n_classes)
        By how many windows more are recognised than by a reference.
    total : array of shape (n_subjects, n_classes)
        Number of windows.
    n_train : int | None
        Number of subjects that a model learns from; None leaves out the factor.

    Returns
    -------
    AccuracyGain
        The gain, over all subjects and the classes that they have.
    """
    known = total.sum(0) > 0
    by_class = gained.sum(0)[known] / total.sum(0)[known]
    terms = ((gained[:, known] - by_class * total[:, known]) / total.sum(0)[known]).mean(1)
    n_subjects = int((total.sum(1) > 0).sum())
    factor = 1.0 if n_train is None else math.sqrt(1 + n_subjects / n_train)
    error = factor * float(cluster_standard_error(terms, n_subjects))
    return AccuracyGain(float(by_class.mean()), error, n_subjects, n_subjects - 1)


def subject_gains(gained: Numbers, total: Numbers) -> Numbers:
    """Return what subjects contribute to a gain in balanced accuracy, which is their mean.

    Arguments have the shape (…, n_subjects, n_classes), the result (…, n_subjects).
    """
    windows = total.sum(-2, keepdims=True)
    shares = np.divide(gained, windows, out=np.zeros_like(gained), where=windows > 0)
    return np.asarray(shares.sum(-1) * gained.shape[-2] / (windows > 0).sum(-1))
