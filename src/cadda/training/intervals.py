"""Scores with bootstrap intervals over subjects, and the scores of each subject."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cadda._internal.random import Seeds
from cadda._internal.statistics import percentile_estimate, resample_counts
from cadda._internal.text import natural_order
from cadda.training.metrics import Scores, SubjectScores, make_scores, scores_of

__all__ = ["N_RESAMPLES", "OVERALL", "resample_complete", "score_subjects"]

N_RESAMPLES = 2000

OVERALL = {
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "kappa": "Cohen's kappa",
}
"""Scores over all classes, as fields of `Scores` and in words."""


def score_subjects(
    y_true: ArrayLike, y_pred: ArrayLike, subject: ArrayLike, class_names: tuple[str, ...]
) -> Scores:
    """Score predicted labels, with 95 % bootstrap intervals, and those of each subject.

    Parameters
    ----------
    y_true : array-like of shape (n_windows,)
        True labels.
    y_pred : array-like of shape (n_windows,)
        Predicted labels.
    subject : array-like of shape (n_windows,)
        Subject of each window. Subjects are resampled with all their windows; windows, if there is
        one subject only.
    class_names : tuple of str
        Classes in the order of their labels.

    Returns
    -------
    Scores
        With `Scores.intervals`, `Scores.resampled` and `Scores.by_subject`.
    """
    names, number = np.unique(np.asarray(subject), return_inverse=True)
    tables = np.zeros((len(names), len(class_names), len(class_names)), dtype=np.int64)
    np.add.at(tables, (number.reshape(-1), np.asarray(y_true), np.asarray(y_pred)), 1)
    total, each = tables.sum(0), scores_of(tables)
    values, resampled = scores_of(total), scores_of(resample_complete(tables))
    ends = {name: percentile_estimate(float(values[name]), resampled[name]) for name in OVERALL}
    return make_scores(
        total,
        class_names,
        intervals={name: (end.low, end.high) for name, end in ends.items() if end.is_bounded},
        resampled="subjects" if len(names) > 1 else "windows",
        by_subject={
            str(name): SubjectScores(
                int(tables[i].sum()),
                int((tables[i].sum(1) > 0).sum()),
                **{key: float(each[key][i]) for key in (*OVERALL, "accuracy")},
            )
            for i, name in sorted(enumerate(names), key=lambda item: natural_order(str(item[1])))
        },
    )


def resample_complete(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Resample subjects, or windows if there is one subject; the same for all models.

    ``counts`` has the shape (n_subjects, n_classes, …) with the truth on the second axis, the
    result (n_resamples, n_classes, …). Resamples that lack a class are dropped: their means would
    be over fewer classes.
    """
    rng = np.random.default_rng(Seeds(0).integer("intervals of a report"))
    resampled = resample_counts(counts, N_RESAMPLES, rng)
    occurs = _by_class(counts.sum(0, keepdims=True))[0] > 0
    complete: NDArray[np.int64] = resampled[(_by_class(resampled) > 0)[:, occurs].all(1)]
    return complete


def _by_class(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = counts.reshape(*counts.shape[:2], -1).sum(-1)
    return sums
