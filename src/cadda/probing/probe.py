"""Predictions of transformed windows by a model that has seen neither them nor their subjects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from cadda._internal.random import Seeds
from cadda._internal.rows import n_at_once
from cadda._internal.validation import Count, Positive, Seed, validated_dataclass
from cadda.operations.base import Draw, Operation
from cadda.training import Problem, Samples, Trainer, TrainingSettings, predict_logits

__all__ = ["Condition", "ProbeProgress", "ProbeSettings", "conditions_of", "probe_fold"]

MAX_DRAWN, MAX_TRANSFORMED = 1 << 21, 1 << 20
"""Samples that are drawn for, and transformed, at once: 8 and 4 MiB, before intermediate steps."""


@validated_dataclass
class ProbeSettings:
    """How to probe.

    Parameters
    ----------
    n_folds : int
        Number of models; each predicts subjects that it has not seen. With fewer subjects, one
        model for each.
    n_epochs : int
        Epochs that each model is trained for. There is no early stopping: its validation subjects
        would be missing in training, which costs more than it gains.
    magnitudes : tuple of float
        Magnitudes to try, in (0, 1].
    n_draws : int
        How often each window is transformed by a random operation at each magnitude.
    batch_size : int
        Training windows per step.
    lr : float
        Learning rate of Adam.
    seed : int
        Decides everything that is random.
    """

    n_folds: Annotated[int, Field(ge=2)] = 12
    n_epochs: Count = 30
    magnitudes: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)] = (
        0.25,
        0.5,
        0.75,
        1.0,
    )
    n_draws: Count = 2
    batch_size: Count = 64
    lr: Positive = 3e-3
    seed: Seed = 0


@dataclass(frozen=True)
class ProbeProgress:
    """Progress of a probe.

    Parameters
    ----------
    fold : int
        Number of the fold, from 1.
    n_folds : int
        Number of folds.
    epoch : int
        Epochs trained in this fold.
    n_epochs : int
        Number of epochs per fold.
    """

    fold: int
    n_folds: int
    epoch: int
    n_epochs: int

    @property
    def done(self) -> int:
        """Epochs trained in all folds so far."""
        return (self.fold - 1) * self.n_epochs + self.epoch

    @property
    def total(self) -> int:
        """Number of epochs of all folds."""
        return self.n_folds * self.n_epochs


@dataclass(frozen=True)
class Condition:
    """An operation at a magnitude; None for an operation that has none."""

    operation: str
    magnitude: float | None


def conditions_of(
    operations: Iterable[Operation], magnitudes: Sequence[float]
) -> tuple[Condition, ...]:
    """Return everything that is tried, operation by operation."""
    return tuple(
        Condition(operation.name, magnitude)
        for operation in operations
        for magnitude in (magnitudes if operation.has_magnitude else (None,))
    )


def probe_fold(
    problem: Problem,
    operations: Iterable[Operation],
    settings: ProbeSettings,
    *,
    fold: int,
    on_epoch: Callable[[int], None],
) -> NDArray[np.int64]:
    """Train on the training windows, and count the predictions of the validation windows.

    Returns counts of shape (n_conditions, n_subjects, n_classes, n_classes): windows as they are
    first, subjects in alphabetical order, rows being the true classes.
    """
    model = _train(problem, settings, fold, on_epoch)
    x, n_classes = problem.valid.x, problem.n_classes
    plain = predict_logits(model, x, n_classes).argmax(1)[None]
    counts = [_count(plain, problem.valid, n_classes)]
    for operation in operations:
        stream = Seeds(settings.seed).stream(f"probe {operation.name}", fold=fold)
        predictions = _predict_draws(model, problem, operation, settings, stream)
        by_draw = [_count(predicted, problem.valid, n_classes) for predicted in predictions]
        counts.append(np.sum(by_draw, axis=0))
    return np.concatenate(counts)


def _train(
    problem: Problem, settings: ProbeSettings, fold: int, on_epoch: Callable[[int], None]
) -> nn.Module:
    """Train a model without augmentation for all epochs."""
    trainer = Trainer(
        problem,
        TrainingSettings(
            max_epochs=settings.n_epochs,
            batch_size=settings.batch_size,
            lr=settings.lr,
            class_weights=True,
            seed=Seeds(settings.seed).integer("probe model", fold=fold),
        ),
    )
    for epoch in range(1, settings.n_epochs + 1):
        trainer.train_epoch(epoch)
        on_epoch(epoch)
    return trainer.model.eval()


def _predict_draws(
    model: nn.Module,
    problem: Problem,
    operation: Operation,
    settings: ProbeSettings,
    generator: torch.Generator,
) -> Iterator[Tensor]:
    """Yield predictions of shape (n_magnitudes, n_windows) for each draw."""
    magnitudes = settings.magnitudes if operation.has_magnitude else (1.0,)
    strength, valid = torch.tensor(magnitudes, device=problem.device), problem.valid
    n_transformed = max(1, n_at_once(valid.x, MAX_TRANSFORMED) // len(magnitudes))
    for _ in range(settings.n_draws):
        predicted = torch.empty(len(magnitudes), len(valid), dtype=torch.int64)
        for part in torch.split(torch.arange(len(valid)), n_at_once(valid.x, MAX_DRAWN)):
            x = valid.x[part].to(problem.device)
            draw = operation.draw(x, y=valid.y[part], generator=generator)
            for index in torch.split(torch.arange(len(x)), n_transformed):
                predicted[:, part[index]] = _predict_batch(
                    model, x, operation, strength, draw, index, problem.n_classes
                )
        yield predicted
        if not draw:  # without random numbers, the next draw would be the same
            return


def _predict_batch(
    model: nn.Module,
    x: Tensor,
    operation: Operation,
    strength: Tensor,
    draw: Draw,
    index: Tensor,
    n_classes: int,
) -> Tensor:
    """Return the predictions of some windows at each magnitude, with the same random numbers."""
    repeated = index.repeat(len(strength))
    transformed = operation.transform(
        x[repeated],
        strength.repeat_interleave(len(index)),
        {name: value[repeated] for name, value in draw.items()},
    )
    what = f"windows after {operation.name}"
    logits = predict_logits(model, transformed, n_classes, what=what)
    return logits.argmax(1).view(len(strength), -1)


def _count(predicted: Tensor, windows: Samples, n_classes: int) -> NDArray[np.int64]:
    """Count predictions (n_conditions, n_windows) by condition, subject, class and prediction."""
    names, subject = np.unique(windows.subject, return_inverse=True)
    shape = (len(predicted), len(names), n_classes, n_classes)
    condition = np.arange(len(predicted))[:, None]
    index = np.broadcast_arrays(condition, subject, windows.y.numpy(), predicted.numpy())
    cell = np.ravel_multi_index([part.ravel() for part in index], shape)
    return np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
