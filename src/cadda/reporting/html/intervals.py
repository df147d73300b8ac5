"""How sure scores are: bootstrap over the test subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cadda._internal.random import Seeds
from cadda._internal.statistics import Estimate, percentile_estimate, resample_counts
from cadda.reporting.html.record import Predictions
from cadda.training.metrics import scores_of

__all__ = ["Judgement", "ScoreRow", "judge"]

N_RESAMPLES = 2000

OVERALL = {
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "kappa": "Cohen's kappa",
}

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreRow:
    """One score.

    Parameters
    ----------
    name : str
        Its name.
    class_name : str | None
        Class that it is of; None is all of them.
    predicted : Estimate
        Of the model of the run.
    without : Estimate | None
        Of the model trained without augmentation.
    difference : Estimate | None
        How much higher it is with the policy.
    """

    name: str
    class_name: str | None
    predicted: Estimate
    without: Estimate | None
    difference: Estimate | None


@dataclass(frozen=True, eq=False)
class Judgement:
    """Scores on the test windows and how sure they are.

    Parameters
    ----------
    unit : 'subjects' | 'windows'
        What was drawn with replacement to find out.
    n_units : int
        How many of them there are.
    rows : tuple of ScoreRow
        Balanced accuracy, macro F1 and kappa, then the F1 of each class.
    subjects : tuple of str
        The test subjects.
    by_subject : array of shape (n_models, n_subjects)
        Balanced accuracy of each subject: with the policy, then without augmentation.
    confusion : array of shape (n_models, n_classes, n_classes)
        Counts in the same order; rows are the truth, columns the predictions.
    """

    unit: Literal["subjects", "windows"]
    n_units: int
    rows: tuple[ScoreRow, ...]
    subjects: tuple[str, ...]
    by_subject: Numbers
    confusion: Counts

    @property
    def n_classes(self) -> int:
        """Number of classes that the test windows have."""
        return int((self.confusion[0].sum(1) > 0).sum())

    @property
    def accuracy(self) -> ScoreRow:
        """Balanced accuracy."""
        return self.rows[0]


def judge(predictions: Predictions, class_names: tuple[str, ...]) -> Judgement:
    """Score predictions, and draw the test subjects anew many times to see how sure that is.

    With one subject only, windows are drawn instead.

    Parameters
    ----------
    predictions : Predictions
        Truth and predictions.
    class_names : tuple of str
        Names of the classes.

    Returns
    -------
    Judgement
        Scores with 95 % percentile intervals. With and without the policy the same subjects are
        drawn, so that differences are paired.
    """
    subjects, number = np.unique(predictions.subject, return_inverse=True)
    models = [predictions.predicted]
    if predictions.without_augmentation is not None:
        models.append(predictions.without_augmentation)
    joint = np.zeros((len(subjects), *[len(class_names)] * 3), dtype=np.int64)
    np.add.at(joint, (number, predictions.truth, models[0], models[-1]), 1)
    tables = _tables(joint)[: len(models)]
    by_subject = scores_of(tables)["balanced_accuracy"]
    confusion = tables.sum(1)
    values, drawn = _score_table(confusion), _score_table(_tables(_resample(joint))[: len(models)])
    names = [*((name, None) for name in OVERALL.values()), *(("F1", one) for one in class_names)]
    is_many = len(subjects) > 1
    return Judgement(
        unit="subjects" if is_many else "windows",
        n_units=len(subjects) if is_many else len(number),
        rows=tuple(
            _row(name, class_name, values[:, i], drawn[..., i])
            for i, (name, class_name) in enumerate(names)
        ),
        subjects=tuple(subjects.tolist()),
        by_subject=by_subject,
        confusion=confusion,
    )


def _tables(joint: Counts) -> Counts:
    """Turn counts of (truth, prediction, other prediction) into two confusion matrices each."""
    return np.stack([joint.sum(-1), joint.sum(-2)])


def _resample(joint: Counts) -> Counts:
    """Resample subjects, or windows if there is one subject.

    Resamples that lack a class are dropped: their means would be over fewer classes.
    """
    rng = np.random.default_rng(Seeds(0).integer("intervals of a report"))
    resampled = resample_counts(joint, N_RESAMPLES, rng)
    is_there = joint.sum((0, 2, 3)) > 0
    complete: Counts = resampled[(resampled.sum((2, 3)) > 0)[:, is_there].all(1)]
    return complete


def _score_table(confusion: Counts) -> Numbers:
    """Give all scores on a last axis; F1 is NaN for a class that is nowhere."""
    scores = scores_of(confusion)
    is_there = confusion.sum(-1) + confusion.sum(-2) > 0
    each = np.where(is_there, scores["f1_per_class"], np.nan)
    overall = np.stack([scores[name] for name in OVERALL], axis=-1)
    return np.concatenate([overall, each], axis=-1)


def _row(name: str, class_name: str | None, values: Numbers, drawn: Numbers) -> ScoreRow:
    """Estimate one score of each model, and how much they differ."""
    with_policy = percentile_estimate(values[0], drawn[0])
    if len(values) == 1:
        return ScoreRow(name, class_name, with_policy, None, None)
    difference = percentile_estimate(values[0] - values[1], drawn[0] - drawn[1])
    without = percentile_estimate(values[1], drawn[1])
    return ScoreRow(name, class_name, with_policy, without, difference)
