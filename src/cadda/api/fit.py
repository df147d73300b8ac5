"""Train and evaluate a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal

from torch import nn

from cadda._internal.scale import describe_odd_scale
from cadda._internal.user_warnings import warn_user
from cadda.api.agreement import matched
from cadda.api.policies import PolicyLike
from cadda.api.prepare import Device, prepare_training
from cadda.data.io.preprocess import describe_filters
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.models.serialization import ModelDescription, description_of
from cadda.operations.pool import OperationPool
from cadda.policies.policy import Policy
from cadda.probing.leak_probe import with_leak_probe
from cadda.tracking import LogTo, TrainingDisplay, open_trackers, shown_progress, tee
from cadda.training import (
    Fitted,
    Scores,
    TrainingEvent,
    TrainingSettings,
    predict_logits,
    score_subjects,
)
from cadda.training.acceleration import Precision
from cadda.training.diagnosis import with_warnings
from cadda.training.optimizers import OptimizerFactory
from cadda.training.trainer import Trainer

__all__ = ["diagnose", "evaluate", "fit", "logged_settings", "score_model"]


def fit(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource = "auto",
    policy: PolicyLike = None,
    pool: OperationPool | None = None,
    max_epochs: int = 300,
    patience: int = 30,
    batch_size: int = 16,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: float | None = None,
    optimizer: str | OptimizerFactory = "adam",
    class_weights: bool = False,
    copies: int | None = None,
    monitor: Literal["loss", "balanced_accuracy"] = "loss",
    precision: Precision = "float32",
    compile: bool = False,
    seed: int = 0,
    device: Device = "auto",
    progress: bool = True,
    on_event: Callable[[TrainingEvent], None] | None = None,
    log_to: LogTo = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Fitted:
    """Train a model, augmented by a policy, and keep the weights that are best on validation.

    Parameters
    ----------
    train : Windows
        Windows to train on.
    valid : Windows
        Windows of other subjects, for early stopping.
    model : str | nn.Module | callable
        ``"chambon2018"``, ``"shallow"``, ``"lenet1"``, ``"braindecode:NAME"``, a module (a copy of
        it is trained), or a function ``make_model(n_channels, n_times, n_classes)``. ``"auto"``
        takes ``"shallow"`` for windows of less than 15 s, or of less than 256 samples if the rate
        is not known, and ``"chambon2018"``, a network for sleep, for others.
    policy : PolicySpec | PolicySchedule | Policy | path-like | callable | None
        Augmentation: a spec, a schedule of them, a file with either, ``"zoo:NAME"`` for a policy
        of the zoo (see ``cadda policy zoo``), its short form such as ``"sign_flip p=0.5"`` unless
        there is a file of that name, or anything that maps (x, y) to augmented (x, y).
    pool : OperationPool | None
        Operations of the policy, where some are your own; None takes those of cadda.
    max_epochs : int
        Maximum number of epochs.
    patience : int
        Number of epochs without improvement on validation before training stops.
    batch_size : int
        Number of windows per step.
    lr : float
        Learning rate.
    betas : tuple of float
        Decay rates of Adam and its variants; the paper has (0.0, 0.999).
    weight_decay : float | None
        Weight decay; None for the default of the optimizer, 0.01 for adamw and 0 for others.
    optimizer : str | callable
        ``"adam"``, ``"adamw"``, ``"nadam"``, ``"radam"``, ``"sgd"``, or a function that gets the
        parameters of the model and returns a torch optimizer, such as
        ``lambda parameters: torch.optim.RMSprop(parameters, lr=1e-4)``.
    class_weights : bool
        Whether rare classes count more in the loss.
    copies : int | None
        0 replaces each window by an augmented one; k keeps it and adds k augmented copies. None
        adds one if classes have policies of their own, and replaces otherwise: an operation that
        only one class gets tells the class, unless windows as they are can be learned from too.
    monitor : 'loss' | 'balanced_accuracy'
        Validation score for early stopping and for the best weights.
    precision : 'float32' | 'bfloat16'
        Precision of the forward pass of training: ``"bfloat16"`` mixes both, as `torch.autocast`
        does.
    compile : bool
        Whether `torch.compile` compiles the model for training.
    seed : int
        Decides initial weights, order, augmentation and dropout: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Device to train on; auto takes a GPU if there is one.
    progress : bool
        Whether to show the progress of training that takes longer than a few seconds: a bar in a
        terminal, a few lines elsewhere.
    on_event : callable | None
        Called with an event after every epoch and at the end.
    log_to : str | sequence of str | None
        Experiment trackers that get every epoch: ``"tensorboard:FOLDER"``,
        ``"mlflow"`` or ``"mlflow:URI"``, ``"wandb"`` or ``"wandb:PROJECT"``.
    checkpoint : path-like | None
        File to write after every epoch, and to continue from if it exists. It must be of the same
        windows, model, policy and settings; a callable as policy is compared by its qualified
        name only.

    Returns
    -------
    Fitted
        The trained model and its history, with `Fitted.leaks` if the policy is class-wise, and
        with `Fitted.warnings`, which are also issued as a warning, if it has learned nothing.
    """
    settings = TrainingSettings(
        max_epochs=max_epochs,
        patience=patience,
        batch_size=batch_size,
        lr=lr,
        betas=betas,
        weight_decay=weight_decay,
        optimizer=optimizer,
        class_weights=class_weights,
        copies=copies,
        monitor=monitor,
        precision=precision,
        compile=compile,
        seed=seed,
    )
    trainer = prepare_training(
        train, valid, settings, model=model, policy=policy, pool=pool, device=device
    )
    file = None if checkpoint is None else Path(checkpoint)
    display = partial(TrainingDisplay, patience)
    with (
        open_trackers(log_to, logged_settings(trainer)) as trackers,
        shown_progress(display, on_event, progress=progress) as report,
    ):
        fitted = trainer.run(on_event=tee(trackers, report), checkpoint=file)
    fitted = diagnose(fitted, trainer)
    if fitted.warnings:
        warn_user(f"{'; '.join(fitted.warnings)}.")
    return fitted


def diagnose(fitted: Fitted, trainer: Trainer) -> Fitted:
    """Add to a trained model whether it has learned nothing, and what it makes of operations."""
    fitted = with_warnings(fitted, trainer.problem, trainer.settings)
    return with_leak_probe(fitted, trainer.problem.valid, trainer.policy)


def logged_settings(trainer: Trainer) -> dict[str, object]:
    """Return what experiment trackers get to know about a training run."""
    policy = trainer.policy
    known = {"policy": str(policy.spec)} if isinstance(policy, Policy) else {}
    return {"model": trainer.problem.description.model, **asdict(trainer.settings), **known}


def evaluate(model: nn.Module | Fitted, windows: Windows) -> Scores:
    """Score a model on windows that it has not seen.

    Parameters
    ----------
    model : nn.Module | Fitted
        The result of `fit`, or a trained model. Of models that cadda has trained or loaded,
        classes are matched by name, and other channels, rates or lengths are an error.
    windows : Windows
        Test windows.

    Returns
    -------
    Scores
        Balanced accuracy, macro F1, F1 per class, Cohen's kappa, accuracy and confusion matrix,
        with bootstrap intervals over subjects and the scores of each subject.
    """
    network = model.model if isinstance(model, Fitted) else model
    if not isinstance(network, nn.Module):
        raise TypeError(
            f"`model` must be a module or the result of `cadda.fit`, got {type(model).__name__}; "
            "of a file, take the first of what `cadda.load_model` returns."
        )
    description = model.description if isinstance(model, Fitted) else description_of(network)
    if description is not None:
        windows = matched(description, windows)
        _warn_of_filters(description, windows)
        if (odd_scale := describe_odd_scale(windows.signals)) is not None:
            warn_user(f"{odd_scale}.")
    if isinstance(model, Fitted):
        _warn_of_seen(model, windows)
    return score_model(network, windows)


def score_model(model: nn.Module, windows: Windows) -> Scores:
    """Score a model on windows that are known to be for it."""
    logits = predict_logits(model, windows.signals, windows.n_classes)
    predicted = logits.argmax(1)
    return score_subjects(windows.y, predicted, windows.subject, windows.class_names)


def _warn_of_filters(description: ModelDescription, windows: Windows) -> None:
    """Warn if windows to test on were filtered in another way than those of the training."""
    trained, tested = description.filters, windows.filters
    if trained is None or tested is None or trained == tested:
        return
    warn_user(
        f"The model was trained on windows with the filters {describe_filters(trained)}, but "
        f"these have {describe_filters(tested)}; read them with the same `highpass` and `lowpass`."
    )


def _warn_of_seen(fitted: Fitted, windows: Windows) -> None:
    """Warn if windows to test on are of subjects that the model was trained with."""
    seen = set(fitted.subjects) & set(windows.subjects)
    if seen:
        warn_user(
            f"{len(seen)} of {len(windows.subjects)} subjects have the names of subjects that the "
            f"model was trained or validated with, such as {min(seen)!r}: unless they are other "
            "people, the scores do not hold for new subjects."
        )
