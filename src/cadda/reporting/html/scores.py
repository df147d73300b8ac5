"""Scores on the test windows, with bootstrap intervals over the test subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import Estimate, percentile_estimate
from cadda.reporting.records import Predictions
from cadda.training.intervals import N_RESAMPLES, OVERALL, resample_complete
from cadda.training.metrics import scores_of

__all__ = ["N_RESAMPLES", "ScoreRow", "TestScores", "score_predictions"]

N_DIGITS = 12
"""Digits to which accuracies of subjects are compared."""

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreRow:
    """A score with and without the policy, and the difference."""

    name: str
    class_name: str | None  # None for all classes
    predicted: Estimate
    without: Estimate | None
    difference: Estimate | None


@dataclass(frozen=True, eq=False)
class TestScores:
    """Scores on the test windows with 95 % percentile intervals.

    Models come with the policy first, then without augmentation; both get the same resamples, so
    that differences are paired.
    """

    unit: Literal["subjects", "windows"]  # what is resampled
    n_units: int
    rows: tuple[ScoreRow, ...]  # balanced accuracy, macro F1 and kappa, then F1 of each class
    subjects: tuple[str, ...]
    by_subject: Numbers  # balanced accuracy, (n_models, n_subjects)
    n_windows: tuple[int, ...]  # of each subject
    is_comparable: tuple[bool, ...]  # whether a subject has windows of more than one class
    confusion: Counts  # (n_models, n_classes, n_classes); rows are the truth

    @property
    def n_classes(self) -> int:
        """Number of classes among the test windows."""
        return int((self.confusion[0].sum(1) > 0).sum())

    @property
    def accuracy(self) -> ScoreRow:
        """Balanced accuracy."""
        return self.rows[0]


def score_predictions(predictions: Predictions, class_names: tuple[str, ...]) -> TestScores:
    """Score predictions, with a bootstrap over subjects; over windows if there is one subject."""
    subjects, number = np.unique(predictions.subject, return_inverse=True)
    models = [predictions.predicted]
    if predictions.without_augmentation is not None:
        models.append(predictions.without_augmentation)
    joint = np.zeros((len(subjects), *[len(class_names)] * 3), dtype=np.int64)
    np.add.at(joint, (number, predictions.truth, models[0], models[-1]), 1)
    tables = _tables(joint)[: len(models)]
    # Rounded, so that equal accuracies are equal whatever the order of their sums is.
    by_subject = scores_of(tables)["balanced_accuracy"].round(N_DIGITS)
    confusion = tables.sum(1)
    values, resampled = (
        _score_table(confusion),
        _score_table(_tables(resample_complete(joint))[: len(models)]),
    )
    names = [*((name, None) for name in OVERALL.values()), *(("F1", name) for name in class_names)]
    is_many = len(subjects) > 1
    return TestScores(
        unit="subjects" if is_many else "windows",
        n_units=len(subjects) if is_many else len(number),
        rows=tuple(
            _row(name, class_name, values[:, i], resampled[..., i])
            for i, (name, class_name) in enumerate(names)
        ),
        subjects=tuple(subjects.tolist()),
        by_subject=by_subject,
        n_windows=tuple(joint.sum((1, 2, 3)).tolist()),
        is_comparable=tuple(((joint.sum((2, 3)) > 0).sum(1) > 1).tolist()),
        confusion=confusion,
    )


def _tables(joint: Counts) -> Counts:
    """Return two confusion matrices of counts of (truth, prediction, other prediction)."""
    return np.stack([joint.sum(-1), joint.sum(-2)])


def _score_table(confusion: Counts) -> Numbers:
    """Return all scores on a last axis; F1 is NaN for a class that does not occur."""
    scores = scores_of(confusion)
    occurs = confusion.sum(-1) + confusion.sum(-2) > 0
    each = np.where(occurs, scores["f1_per_class"], np.nan)
    overall = np.stack([scores[name] for name in OVERALL], axis=-1)
    return np.concatenate([overall, each], axis=-1)


def _row(name: str, class_name: str | None, values: Numbers, resampled: Numbers) -> ScoreRow:
    """Estimate a score of each model, and the difference."""
    with_policy = percentile_estimate(values[0], resampled[0])
    if len(values) == 1:
        return ScoreRow(name, class_name, with_policy, None, None)
    difference = percentile_estimate(values[0] - values[1], resampled[0] - resampled[1])
    without = percentile_estimate(values[1], resampled[1])
    return ScoreRow(name, class_name, with_policy, without, difference)
