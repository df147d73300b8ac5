"""Scores of predictions, all from the confusion matrix, equal to scikit-learn's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Scores", "score"]


@dataclass(frozen=True, eq=False)
class Scores:
    """How well predictions agree with the truth.

    Parameters
    ----------
    balanced_accuracy : float
        Mean recall over the classes that occur in the truth.
    macro_f1 : float
        Mean F1 over the classes that occur in truth or predictions.
    f1_per_class : dict of str to float
        F1 by class; 0 for a class that is never predicted rightly.
    kappa : float
        Cohen's kappa: agreement beyond chance.
    accuracy : float
        Share of right predictions.
    confusion : array of shape (n_classes, n_classes)
        Counts; rows are the truth, columns the predictions.
    """

    balanced_accuracy: float
    macro_f1: float
    f1_per_class: dict[str, float]
    kappa: float
    accuracy: float
    confusion: NDArray[np.int64]

    def to_dict(self) -> dict[str, object]:
        """Give the scores as plain data.

        Returns
        -------
        dict
            Numbers, dicts and lists only.
        """
        return {
            "balanced_accuracy": self.balanced_accuracy,
            "macro_f1": self.macro_f1,
            "f1_per_class": dict(self.f1_per_class),
            "kappa": self.kappa,
            "accuracy": self.accuracy,
            "confusion": self.confusion.tolist(),
        }


def score(y_true: ArrayLike, y_pred: ArrayLike, class_names: tuple[str, ...]) -> Scores:
    """Score predicted labels.

    Parameters
    ----------
    y_true : array-like of shape (n_windows,)
        True labels.
    y_pred : array-like of shape (n_windows,)
        Predicted labels.
    class_names : tuple of str
        Names of the classes, in the order of the labels.

    Returns
    -------
    Scores
        The scores.
    """
    n_classes = len(class_names)
    pairs = np.asarray(y_true, dtype=np.int64) * n_classes + np.asarray(y_pred, dtype=np.int64)
    confusion = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    hits, true, predicted = np.diag(confusion), confusion.sum(1), confusion.sum(0)
    total = confusion.sum()
    f1 = 2 * hits / np.maximum(true + predicted, 1)
    agreement = hits.sum() / total
    by_chance = (true * predicted).sum() / total**2
    return Scores(
        balanced_accuracy=float((hits[true > 0] / true[true > 0]).mean()),
        macro_f1=float(f1[true + predicted > 0].mean()),
        f1_per_class=dict(zip(class_names, f1.tolist(), strict=True)),
        # Truth and predictions all of one class agree by chance alone.
        kappa=float((agreement - by_chance) / (1 - by_chance)) if by_chance < 1 else 0.0,
        accuracy=float(agreement),
        confusion=confusion,
    )
