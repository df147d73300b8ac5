"""Compare methods and policies on windows, in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from cadda.api.prepare import Device
from cadda.data.windows import Windows
from cadda.experiments.objects import model_name, name_methods, name_operations, optimizer_name
from cadda.experiments.result import StudyResult
from cadda.experiments.run import run_study
from cadda.models.registry import ModelFactory
from cadda.operations.base import Settings
from cadda.operations.own import OwnOperations
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.records import Reading
from cadda.tracking import LogTo
from cadda.training import TrainingSettings

__all__ = ["compare"]


def compare(
    windows: Windows,
    *,
    methods: Sequence[str | os.PathLike[str] | PolicySpec | PolicySchedule] = (
        "none",
        "guided",
        "auto",
    ),
    n_folds: int = 5,
    n_seeds: int = 1,
    valid: float = 0.2,
    max_seconds: float | None = 120.0,
    model: str | ModelFactory = "auto",
    operations: OwnOperations | None = None,
    operation_settings: Mapping[str, Settings] | None = None,
    training: TrainingSettings | None = None,
    trial_epochs: int | None = None,
    seed: int = 0,
    device: Device = "auto",
    engine: str = "serial",
    out: str | os.PathLike[str] = "compare",
    reading: Reading | None = None,
    progress: bool = True,
    log_to: LogTo = None,
) -> StudyResult:
    """Compare methods and policies by cross-validation over subjects, and recommend one.

    In each fold, all models start from the same weights and are tested on subjects that neither
    search nor training has used. Recommended is the simplest method or policy within one standard
    error of the best, if its gain is distinguishable from 0. An interrupted comparison is resumed
    by the same call.

    Parameters
    ----------
    windows : Windows
        Windows of all subjects; each subject is tested in one fold.
    methods : sequence of str, path-like, PolicySpec or PolicySchedule
        What to compare: methods of `cadda.search` by name, policies as objects, which ``out``
        keeps as ``policy-….json``, by file (``.json``, ``.yaml``, ``.txt``) or ``"zoo:NAME"``, and
        ``"duplicates"``, every window twice. ``"classwise:"`` before a
        method searches one policy per class. ``"none"``, no augmentation, is added if it is
        missing.
    n_folds : int
        Number of folds of the cross-validation.
    n_seeds : int
        Number of training runs in each fold; scores are averaged over them.
    valid : float
        Fraction of all subjects for validation, at most half of those outside of the fold.
    max_seconds : float | None
        Most time of each search in seconds; None for the default budget of each method.
    model : str | callable
        Name of the model to train, see `cadda.fit`, or a function ``make_model(n_channels,
        n_times, n_classes)`` of a module, also as ``"module:function"``.
    operations : sequence of str or Operation | None
        Operations that searches choose from and that policies may have, by name, your own as
        ``"module:Class"``, or as objects and classes that can be imported; None takes the default
        pool.
    operation_settings : mapping of str to mapping | None
        Settings of operations that are not the default; see `cadda.search`. Those stored in a
        policy file are used instead.
    training : TrainingSettings | None
        How models are trained; None for the defaults of `cadda.fit`. Its seed is not used. An
        optimizer that is not a name must be a function of a module.
    trial_epochs : int | None
        Most epochs of the models that searches try policies with; None for as many as others.
    seed : int
        Seed of everything random: same seed, same result.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    engine : str
        Where jobs run: ``"serial"``, ``"processes:N"``, ``"dask:ADDRESS"`` or ``"dask:local:N"``.
    out : path-like
        Folder for results, figure and report. Jobs that it already has are not repeated.
    reading : Reading | None
        The call that made the windows, for the report.
    progress : bool
        Whether to show the progress of a comparison that takes longer than a few seconds.
    log_to : str | sequence of str | None
        Experiment trackers that get the scores of every method in every fold, and the table:
        ``"tensorboard:FOLDER"``, ``"mlflow"`` or ``"mlflow:URI"``, ``"wandb"`` or
        ``"wandb:PROJECT"``.

    Returns
    -------
    StudyResult
        Accuracies and gains as a table, with the recommendation as its note; `details` has the
        table of each subject. Jobs that failed are listed in its progress; if all failed,
        `RunError` is raised.
    """
    return run_study(
        "compare",
        data=windows,
        settings={
            "n_folds": n_folds,
            "n_seeds": n_seeds,
            "valid": valid,
            "max_seconds": max_seconds,
            "model": model_name(model),
            "operations": name_operations(operations),
            "operation_settings": operation_settings,
            **_training_settings(training or TrainingSettings()),
            "trial_epochs": trial_epochs,
            "seed": seed,
            "device": device,
            # Last, as it writes files.
            "methods": name_methods(methods, Path(out)),
        },
        out=Path(out),
        engine=engine,
        reading=reading,
        progress=progress,
        log_to=log_to,
    )


def _training_settings(training: TrainingSettings) -> dict[str, object]:
    """Return settings by name; raise for those that a comparison cannot store."""
    if training.betas != TrainingSettings().betas:
        raise ValueError(f"`betas` cannot be set for a comparison, got {training.betas}.")
    default = TrainingSettings(optimizer=training.optimizer).weight_decay
    decay = None if training.weight_decay == default else training.weight_decay
    own = {"weight_decay": decay, "optimizer": optimizer_name(training.optimizer)}
    settings = asdict(training) | own
    return {name: value for name, value in settings.items() if name not in ("seed", "betas")}
