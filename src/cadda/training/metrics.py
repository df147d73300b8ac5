"""Scores of predictions, all from the confusion matrix, equal to scikit-learn's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cadda._internal.frames import make_frame
from cadda._internal.notebook import Cell, block, paragraph, table

__all__ = ["Scores", "SubjectScores", "make_scores", "score", "scores_of"]

OVER_CLASSES = ("balanced_accuracy", "macro_f1", "kappa")
"""Scores that are over the classes."""


@dataclass(frozen=True)
class SubjectScores:
    """How well the predictions for one subject agree with the truth.

    Parameters
    ----------
    n_windows : int
        Number of windows.
    n_classes : int
        Number of classes that the subject has windows of. With one, only the accuracy compares
        with that of others: the balanced accuracy is then the recall of that class.
    balanced_accuracy : float
        Mean recall over the classes that the subject has.
    macro_f1 : float
        Mean F1 over the classes that occur in truth or predictions.
    kappa : float
        Cohen's kappa.
    accuracy : float
        Share of right predictions.
    """

    n_windows: int
    n_classes: int
    balanced_accuracy: float
    macro_f1: float
    kappa: float
    accuracy: float

    @property
    def is_comparable(self) -> bool:
        """Whether scores over classes compare with those of others: there are several."""
        return self.n_classes > 1


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
    intervals : dict of str to tuple of float
        Ends of the 95 % bootstrap intervals of balanced accuracy, macro F1 and kappa, by the names
        of their fields; empty if subjects are not known.
    resampled : 'subjects' | 'windows' | None
        What the intervals are over: windows, if there is one subject only.
    by_subject : dict of str to SubjectScores
        Scores of each subject; empty if subjects are not known.
    """

    balanced_accuracy: float
    macro_f1: float
    f1_per_class: dict[str, float]
    kappa: float
    accuracy: float
    confusion: NDArray[np.int64]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    resampled: Literal["subjects", "windows"] | None = None
    by_subject: dict[str, SubjectScores] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = ("balanced_accuracy", "macro_f1", "kappa", "accuracy")
        scores = ", ".join(f"{name}={getattr(self, name):.3f}" for name in names)
        return f"Scores({scores}, n_windows={int(self.confusion.sum())})"

    def to_dict(self) -> dict[str, object]:
        """Return the scores as plain data.

        Returns
        -------
        dict
            Numbers, dicts and lists only.
        """
        intervals = {name: list(ends) for name, ends in self.intervals.items()}
        return asdict(self) | {"confusion": self.confusion.tolist(), "intervals": intervals}

    def to_frame(self, by: Literal["class", "subject"] = "class") -> Any:
        """Return the scores of each class, or of each subject, as a data frame.

        Parameters
        ----------
        by : 'class' | 'subject'
            What has a row.

        Returns
        -------
        pandas.DataFrame
            By class: ``class_name``, ``precision``, ``recall``, ``f1`` and ``support``, its number
            of windows; 0 where a score is not defined, as in scikit-learn. By subject: ``subject``
            and the columns of `cadda.SubjectScores`, with NaN for scores over classes of a subject
            that has windows of one class only.
        """
        if by == "subject":
            names = ("subject", *(item.name for item in fields(SubjectScores)))
            own = (_subject_row(name, scores) for name, scores in self.by_subject.items())
            return make_frame(own, names)
        if by != "class":
            raise ValueError(f"`by` must be 'class' or 'subject', got {by!r}.")
        true, predicted = self.confusion.sum(1), self.confusion.sum(0)
        hits = np.diag(self.confusion)
        columns = {
            "class_name": self.f1_per_class,
            "precision": hits / np.maximum(predicted, 1),
            "recall": hits / np.maximum(true, 1),
            "f1": self.f1_per_class.values(),
            "support": true,
        }
        rows = zip(*columns.values(), strict=True)
        return make_frame((dict(zip(columns, row, strict=True)) for row in rows), tuple(columns))

    def __str__(self) -> str:
        names = {
            "balanced_accuracy": "balanced accuracy",
            "macro_f1": "macro F1",
            "kappa": "kappa",
        }
        values = []
        for name, words in names.items():
            ends = self.intervals.get(name)
            interval = "" if ends is None else f" [{ends[0]:.3f} to {ends[1]:.3f}]"
            values.append(f"{words} {getattr(self, name):.3f}{interval}")
        return f"{', '.join(values)}, {self.confusion.sum()} windows"

    def _repr_html_(self) -> str:
        share = self.confusion / np.maximum(self.confusion.sum(1, keepdims=True), 1)
        counts = [
            map(Cell, map(str, row), part) for row, part in zip(self.confusion, share, strict=True)
        ]
        rows: list[tuple[Cell | str, ...]] = [
            (name, f"{f1:.3f}", *cells)
            for (name, f1), cells in zip(self.f1_per_class.items(), counts, strict=True)
        ]
        return block(
            f"balanced accuracy {self.balanced_accuracy:.3f}",
            paragraph(
                f"macro F1 {self.macro_f1:.3f}, kappa {self.kappa:.3f}, "
                f"accuracy {self.accuracy:.3f}"
            ),
            table(("true class", "F1", *self.f1_per_class), rows, "columns: predicted class"),
        )


def _subject_row(name: str, scores: SubjectScores) -> dict[str, object]:
    """Return the scores of a subject, without those that do not compare with others."""
    undefined = {} if scores.is_comparable else dict.fromkeys(OVER_CLASSES, np.nan)
    return {"subject": name} | asdict(scores) | undefined


def score(y_true: ArrayLike, y_pred: ArrayLike, class_names: tuple[str, ...]) -> Scores:
    """Score predicted labels."""
    n_classes = len(class_names)
    pairs = np.asarray(y_true, dtype=np.int64) * n_classes + np.asarray(y_pred, dtype=np.int64)
    confusion = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    return make_scores(confusion, class_names)


# What subjects add is of several types.
def make_scores(
    confusion: NDArray[np.int64], class_names: tuple[str, ...], **of_subjects: Any
) -> Scores:
    """Score a confusion matrix, rows being the truth."""
    values = scores_of(confusion)
    f1 = values.pop("f1_per_class")
    numbers: dict[str, Any] = {name: float(value) for name, value in values.items()}
    return Scores(
        f1_per_class=dict(zip(class_names, f1.tolist(), strict=True)),
        confusion=confusion,
        **numbers | of_subjects,
    )


def scores_of(confusion: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Compute scores of confusion matrices (..., n_classes, n_classes), rows being the truth.

    The scores have the names of `Scores` and shape (...); ``f1_per_class`` has an axis more.
    """
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    true, predicted = confusion.sum(-1), confusion.sum(-2)
    total = true.sum(-1)
    f1 = 2 * hits / np.maximum(true + predicted, 1)
    agreement = hits.sum(-1) / total
    by_chance = (true * predicted).sum(-1) / total**2
    # Truth and predictions all of one class agree by chance alone.
    beyond = np.where(by_chance < 1, agreement - by_chance, 0.0)
    return {
        "balanced_accuracy": _mean_where(true > 0, hits / np.maximum(true, 1)),
        "macro_f1": _mean_where(true + predicted > 0, f1),
        "f1_per_class": f1,
        "kappa": beyond / np.where(by_chance < 1, 1 - by_chance, 1.0),
        "accuracy": agreement,
    }


def _mean_where(counts: NDArray[np.bool_], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the classes that count."""
    mean: NDArray[np.float64] = np.where(counts, values, 0.0).sum(-1) / counts.sum(-1)
    return mean
