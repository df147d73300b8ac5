"""One training run on a part of a fold, and its scores: what most studies are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from cadda._internal.limits import MAX_COUNT
from cadda._internal.random import Seeds
from cadda.api.fit import diagnose, evaluate
from cadda.api.prepare import Device, model_for, prepare_training
from cadda.data.splits import split_subjects, stratified_subset
from cadda.data.windows import Windows
from cadda.experiments.objects import find_model, find_optimizer
from cadda.experiments.study import Added, JobResult, PlanOnly, StudyConfig, StudyJob
from cadda.operations.pool import OperationPool
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.training import Fitted, TrainingSettings
from cadda.training.acceleration import Precision

__all__ = [
    "Fold",
    "OperationJob",
    "TrainingConfig",
    "TrainingScores",
    "check_training",
    "fit_fold",
    "make_fold",
    "score_fitted",
    "train_and_score",
    "training_seconds",
    "training_settings",
]

SECONDS_PER_VALUE = 2e-7
"""Time of a forward and backward pass per number in the windows."""
VALIDATION = 1 / 3
"""Time of a forward pass, relative to forward and backward."""
BEST_EPOCH = 50
"""Best epoch that estimates of times assume."""


class TrainingConfig(StudyConfig):
    """Settings of studies that train models."""

    model: str = "auto"
    """Model: auto, chambon2018, shallow, lenet1, braindecode:NAME, or your own module:function."""
    n_folds: PlanOnly[int] = Field(5, ge=1, le=MAX_COUNT)
    """Number of splits by subject, each with its own seed."""
    valid: float = Field(0.16, gt=0, lt=1)
    """Fraction of the subjects for early stopping."""
    test: float = Field(0.2, gt=0, lt=1)
    """Fraction of the subjects for the scores."""
    n_train: int | None = Field(None, ge=1, le=MAX_COUNT)
    """Maximum number of training windows, drawn evenly from the classes; none: no limit."""
    max_epochs: int = Field(300, ge=1, le=MAX_COUNT)
    """Maximum number of epochs."""
    patience: int = Field(30, ge=1, le=MAX_COUNT)
    """Epochs without a lower validation loss before training stops."""
    batch_size: int = Field(16, ge=1, le=MAX_COUNT)
    """Windows per step."""
    lr: float = Field(1e-3, gt=0)
    """Learning rate."""
    optimizer: Added[str] = "adam"
    """Optimizer: adam, adamw, nadam, radam, sgd, or your own module:function."""
    weight_decay: Added[float | None] = Field(None, ge=0)
    """Weight decay; none: the default of the optimizer, 0.01 for adamw and 0 for others."""
    class_weights: Added[bool] = False
    """Whether rare classes count more in the loss."""
    copies: Added[int | None] = Field(None, ge=0, le=MAX_COUNT)
    """Augmented copies added to each window, 0 replaces it; none: 1 for class-wise policies."""
    monitor: Added[Literal["loss", "balanced_accuracy"]] = "loss"
    """Validation score for early stopping and for the best weights."""
    precision: Added[Precision] = "float32"
    """Precision of the forward pass of training; bfloat16 mixes both."""
    compile: Added[bool] = False
    """Whether torch.compile compiles the model for training."""


class TrainingScores(JobResult):
    """Scores on the test windows, validation at the best epoch, and sizes."""

    balanced_accuracy: float
    macro_f1: float
    f1_per_class: dict[str, float]
    valid_balanced_accuracy: float
    valid_loss: float
    best_epoch: int
    n_epochs: int
    n_train: int


class OperationJob(StudyJob):
    """Train with one operation, or without augmentation, on one fold."""

    fold: int
    operation: str
    magnitude: float | None


@dataclass(frozen=True, eq=False)
class Fold:
    """A split by subject. All policies are trained with the same seed."""

    train: Windows
    valid: Windows
    test: Windows
    seed: int


def make_fold(
    config: TrainingConfig, windows: Windows, number: int, *, fraction: float = 1.0
) -> Fold:
    """Split windows by subject, and take a fraction of the training windows, stratified.

    A fold does not depend on how many folds there are. A smaller fraction is a subset of a
    larger.
    """
    seed = Seeds(config.seed).integer("fold", fold=number)
    train, valid, test = split_subjects(windows, (config.valid, config.test), seed=seed)
    most = 1.0 if config.n_train is None else min(1.0, config.n_train / len(train))
    return Fold(stratified_subset(train, fraction * most, seed=seed), valid, test, seed)


def training_settings(config: TrainingConfig, fold: Fold) -> TrainingSettings:
    """Return the settings of `cadda.fit` for a fold."""
    return TrainingSettings(
        max_epochs=config.max_epochs,
        patience=config.patience,
        batch_size=config.batch_size,
        lr=config.lr,
        optimizer=find_optimizer(config.optimizer),
        weight_decay=config.weight_decay,
        class_weights=config.class_weights,
        copies=config.copies,
        monitor=config.monitor,
        precision=config.precision,
        compile=config.compile,
        seed=fold.seed,
    )


def train_and_score(
    config: TrainingConfig,
    fold: Fold,
    policy: PolicySpec | PolicySchedule | None,
    *,
    copies: int | None = None,
) -> TrainingScores:
    """Train a model with a policy and score it; ``copies`` replaces that of the settings."""
    return score_fitted(fit_fold(config, fold, policy, copies=copies), fold)


def fit_fold(
    config: TrainingConfig,
    fold: Fold,
    policy: PolicySpec | PolicySchedule | None,
    *,
    pool: OperationPool | None = None,
    copies: int | None = None,
    device: Device = "auto",
) -> Fitted:
    """Train a model with a policy; ``copies`` replaces that of the settings."""
    settings = training_settings(config, fold)
    own = settings if copies is None else replace(settings, copies=copies)
    trainer = prepare_training(
        *(fold.train, fold.valid, own),
        model=find_model(config.model),
        policy=policy,
        pool=pool,
        device=device,
    )
    # Without the warnings of `cadda.fit`: there may be hundreds of models.
    return diagnose(trainer.run(), trainer)


def score_fitted(fitted: Fitted, fold: Fold) -> TrainingScores:
    """Score a model on the test windows."""
    scores = evaluate(fitted, fold.test)
    best = fitted.history[fitted.best_epoch - 1]
    return TrainingScores(
        balanced_accuracy=scores.balanced_accuracy,
        macro_f1=scores.macro_f1,
        f1_per_class=scores.f1_per_class,
        valid_balanced_accuracy=best.valid_balanced_accuracy,
        valid_loss=best.valid_loss,
        best_epoch=fitted.best_epoch,
        n_epochs=len(fitted.history),
        n_train=len(fold.train),
    )


def check_training(config: TrainingConfig, windows: Windows) -> None:
    """Raise an error for settings that no model could be trained with."""
    model_for(find_model(config.model), make_fold(config, windows, 0).train, seed=0)


def training_seconds(
    config: TrainingConfig,
    windows: Windows,
    *,
    fraction: float = 1.0,
    n_windows: int | None = None,
) -> float:
    """Estimate the seconds of a training run on one core.

    ``fraction`` is that of the training windows, ``n_windows`` the number of all windows in use.
    """
    total = len(windows) if n_windows is None else n_windows
    most = (1 - config.valid - config.test) * total
    n_train = fraction * (most if config.n_train is None else min(most, config.n_train))
    n_passed = n_train + VALIDATION * config.valid * total
    n_epochs = min(config.max_epochs, BEST_EPOCH + config.patience)
    return SECONDS_PER_VALUE * n_epochs * n_passed * windows.n_channels * windows.n_times
