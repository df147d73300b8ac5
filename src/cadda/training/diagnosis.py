"""Whether a trained model has learned anything, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cadda._internal.scale import describe_odd_scale
from cadda._internal.text import list_names, natural_order
from cadda.training.metrics import score
from cadda.training.problem import Problem
from cadda.training.progress import Fitted
from cadda.training.settings import TrainingSettings
from cadda.training.step import predict_logits

__all__ = [
    "NO_WINDOWS",
    "chance_loss",
    "loss_warnings",
    "missing_class_warnings",
    "prediction_warnings",
    "with_warnings",
]

NO_WINDOWS = "validation has no windows of "
"""How a warning begins that is about the windows, not about a model."""

MIN_GAIN = 0.01
"""Part of the loss of chance by which a model must be better to have learned something."""


def with_warnings(fitted: Fitted, problem: Problem, settings: TrainingSettings) -> Fitted:
    """Add to a trained model what is wrong with its predictions of the validation windows."""
    valid, names = problem.valid, problem.class_names
    logits = predict_logits(fitted.model, valid.x, problem.n_classes)
    counts = (np.bincount(part.y, minlength=len(names)) for part in (problem.train, valid))
    chance = chance_loss(*counts, class_weights=settings.class_weights)
    texts = [
        *prediction_warnings(score(valid.y, logits.argmax(1), names).confusion, names),
        *loss_warnings([epoch.valid_loss for epoch in fitted.history], chance),
    ]
    if texts and (odd_scale := describe_odd_scale(problem.train.x)) is not None:
        texts.append(odd_scale)
    return replace(fitted, warnings=(*missing_class_warnings(problem), *texts))


def missing_class_warnings(problem: Problem) -> Iterator[str]:
    """Yield that validation lacks classes that training has, if it does."""
    if not problem.missing_classes:
        return
    classes = " and ".join(map(repr, problem.missing_classes))
    subjects = sorted(set(problem.valid.subject), key=natural_order)
    of_whom = f" (subjects: {list_names(subjects, 5)})" if subjects else ""
    yield (
        f"{NO_WINDOWS}{classes}{of_whom}: neither its loss nor its balanced accuracy is about "
        "all classes, and early stopping depends on the others only; split the subjects with "
        "another `seed` or a larger `valid`, or leave out subjects that lack a class"
    )


def prediction_warnings(
    confusion: NDArray[np.int64], class_names: Sequence[str], part: str = "validation"
) -> Iterator[str]:
    """Yield that all windows of several classes are taken for one class, if they are."""
    true, predicted = confusion.sum(1), confusion.sum(0)
    if (true > 0).sum() > 1 and (predicted > 0).sum() == 1:
        yield (
            f"the model predicts one class only: {class_names[int(predicted.argmax())]} for all "
            f"{predicted.max()} {part} windows"
        )


def loss_warnings(valid_losses: Sequence[float], chance: float) -> Iterator[str]:
    """Yield that no epoch has a validation loss clearly below that of chance, if none has."""
    lowest = min(valid_losses)
    if lowest > (1 - MIN_GAIN) * chance:
        degree = "hardly" if lowest < chance else "not"
        yield (
            f"the validation loss is {degree} below chance: at best {lowest:.3f}, and "
            f"{chance:.3f} if the frequencies of the classes are predicted for every window; try "
            "another `lr`, more `max_epochs` or `patience`, or another `model`"
        )


def chance_loss(
    train_counts: ArrayLike, valid_counts: ArrayLike, *, class_weights: bool = False
) -> float:
    r"""Compute the validation loss of predicting the class frequencies of training.

    With frequencies :math:`q_k` of the training windows and :math:`p_k` of the validation windows
    it is :math:`-\sum_k p_k \log q_k`. Where rare classes count more in the loss, both are
    weighted, and the best that can be predicted of every window is that the classes of training
    are equally likely.
    """
    train, valid = (np.asarray(counts, dtype=float) for counts in (train_counts, valid_counts))
    if class_weights:
        weight = np.divide(1.0, train, out=np.zeros_like(train), where=train > 0)
        train, valid = train * weight, valid * weight
    occurs = valid > 0
    with np.errstate(divide="ignore"):
        logs = np.log(train[occurs] / train.sum())
    return float(-(valid[occurs] * logs).sum() / valid.sum())
