"""One training on a part of a fold, and its scores: what most studies are made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pydantic import Field

from cadda._internal.random import Seeds
from cadda.api.fit import evaluate, fit
from cadda.api.prepare import model_for
from cadda.data.splits import split_subjects, stratified_subset
from cadda.data.windows import Windows
from cadda.experiments.study import Planned, Result, StudyConfig
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.training import TrainingSettings

__all__ = [
    "Fold",
    "TrainingConfig",
    "check_training",
    "fold_of",
    "seconds_of",
    "train_and_score",
    "training_settings",
]

SECONDS_PER_VALUE = 2e-7
"""Time that one pass of a training takes per number in the windows, forwards and backwards."""
VALIDATION = 1 / 3
"""Time of a pass forwards only, in passes forwards and backwards."""
BEST_EPOCH = 50
"""Epoch of the best validation that times are estimated with."""


class TrainingConfig(StudyConfig):
    """Settings of studies that train models."""

    model: str = "chambon2018"
    """Model: chambon2018, shallow, lenet1 or braindecode:NAME."""
    n_folds: Planned[int] = Field(5, ge=1)
    """Number of splits by subject, each with a seed of its own."""
    valid: float = Field(0.16, gt=0, lt=1)
    """Fraction of the subjects for early stopping."""
    test: float = Field(0.2, gt=0, lt=1)
    """Fraction of the subjects for the scores."""
    n_train: int | None = Field(None, ge=1)
    """Most windows to train on, drawn evenly from the classes; none: all of the others."""
    max_epochs: int = Field(300, ge=1)
    """Most epochs of a training."""
    patience: int = Field(30, ge=1)
    """Epochs without a better validation loss before a training stops."""
    batch_size: int = Field(16, ge=1)
    """Windows per step."""
    lr: float = Field(1e-3, gt=0)
    """Learning rate of Adam."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One split by subject: nobody is in two parts.

    Parameters
    ----------
    train : Windows
        What to learn from.
    valid : Windows
        What to stop by.
    test : Windows
        What to score on.
    seed : int
        Seed of the trainings of this fold, the same with every policy.
    """

    train: Windows
    valid: Windows
    test: Windows
    seed: int


def fold_of(
    config: TrainingConfig, windows: Windows, number: int, *, fraction: float = 1.0
) -> Fold:
    """Split windows by subject, and take a part of the training windows.

    Parameters
    ----------
    config : TrainingConfig
        Sizes of the parts.
    windows : Windows
        All windows.
    number : int
        Number of the fold, which does not depend on how many folds there are.
    fraction : float
        How much of the training windows to take, evenly from the classes. What a smaller fraction
        takes is part of what a larger one takes.

    Returns
    -------
    Fold
        The parts.
    """
    seed = Seeds(config.seed).integer("fold", fold=number)
    train, valid, test = split_subjects(windows, (config.valid, config.test), seed=seed)
    most = 1.0 if config.n_train is None else min(1.0, config.n_train / len(train))
    return Fold(stratified_subset(train, fraction * most, seed=seed), valid, test, seed)


def training_settings(config: TrainingConfig, fold: Fold) -> TrainingSettings:
    """Say how to train on a fold.

    Parameters
    ----------
    config : TrainingConfig
        The settings.
    fold : Fold
        Gives the seed.

    Returns
    -------
    TrainingSettings
        Settings of `cadda.fit`.
    """
    return TrainingSettings(
        max_epochs=config.max_epochs,
        patience=config.patience,
        batch_size=config.batch_size,
        lr=config.lr,
        seed=fold.seed,
    )


def train_and_score(
    config: TrainingConfig,
    fold: Fold,
    policy: PolicySpec | PolicySchedule | None,
    *,
    copies: int | None = None,
) -> Result:
    """Train once and score.

    Parameters
    ----------
    config : TrainingConfig
        Model and how to train it.
    fold : Fold
        What to train and score on.
    policy : PolicySpec | PolicySchedule | None
        Augmentation.
    copies : int | None
        Augmented copies beside each window, see `cadda.fit`.

    Returns
    -------
    dict
        Scores on the test windows, score on the validation windows at the best epoch, and sizes.
    """
    settings = asdict(training_settings(config, fold)) | {"copies": copies}
    fitted = fit(fold.train, fold.valid, model=config.model, policy=policy, **settings)
    scores = evaluate(fitted, fold.test)
    best = fitted.history[fitted.best_epoch - 1]
    return {
        "balanced_accuracy": scores.balanced_accuracy,
        "macro_f1": scores.macro_f1,
        "f1_per_class": scores.f1_per_class,
        "valid_balanced_accuracy": best.valid_balanced_accuracy,
        "valid_loss": best.valid_loss,
        "best_epoch": fitted.best_epoch,
        "n_epochs": len(fitted.history),
        "n_train": len(fold.train),
    }


def check_training(config: TrainingConfig, windows: Windows) -> None:
    """Refuse, before anything is trained, settings that no training could be done with.

    Parameters
    ----------
    config : TrainingConfig
        The settings.
    windows : Windows
        The data.
    """
    model_for(config.model, fold_of(config, windows, 0).train, seed=0)


def seconds_of(
    config: TrainingConfig,
    windows: Windows,
    *,
    fraction: float = 1.0,
    n_windows: int | None = None,
) -> float:
    """Say about how long a training takes on one core.

    Parameters
    ----------
    config : TrainingConfig
        How to train.
    windows : Windows
        All windows.
    fraction : float
        How much of the training windows is taken.
    n_windows : int | None
        How many of all windows are used; None uses all.

    Returns
    -------
    float
        Seconds.
    """
    total = len(windows) if n_windows is None else n_windows
    most = (1 - config.valid - config.test) * total
    n_train = fraction * (most if config.n_train is None else min(most, config.n_train))
    n_passed = n_train + VALIDATION * config.valid * total
    n_epochs = min(config.max_epochs, BEST_EPOCH + config.patience)
    return SECONDS_PER_VALUE * n_epochs * n_passed * windows.n_channels * windows.n_times
