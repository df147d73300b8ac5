"""Search for an augmentation policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any, Literal, TypeAlias

from cadda._internal.user_warnings import warn_user
from cadda.api.prepare import Device, Operations, join_windows, make_problem
from cadda.api.probe import run_probe
from cadda.api.result import SearchResult
from cadda.api.search_problem import ProbeSource, search_problem
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.operations.base import Settings
from cadda.operations.own import locate_operations
from cadda.probing.probe import ProbeSettings
from cadda.probing.probe_result import ProbeResult
from cadda.reporting.records import Reading
from cadda.runs.events import RunEvent
from cadda.searchers.registry import find_method
from cadda.tracking import LogTo, SearchDisplay, shown_progress
from cadda.training import TrainingSettings

__all__ = ["ProbeLike", "SearchResult", "check_setting_names", "probe_source", "search"]

ProbeLike: TypeAlias = bool | ProbeResult | str | os.PathLike[str] | None


def search(
    train: Windows,
    valid: Windows,
    *,
    method: str = "auto",
    classwise: bool | None = None,
    model: ModelSource = "auto",
    operations: Operations = None,
    operation_settings: Mapping[str, Settings] | None = None,
    probe: ProbeLike = None,
    budget: int | None = None,
    max_seconds: float | None = None,
    retrain_every: int | None = None,
    retrain: bool = True,
    baseline: bool = True,
    training: TrainingSettings | None = None,
    trial_epochs: int | None = None,
    preset: Literal["paper"] | None = None,
    seed: int = 0,
    device: Device = "auto",
    engine: str = "auto",
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    data: str | None = None,
    reading: Reading | None = None,
    progress: bool = True,
    on_event: Callable[[RunEvent], None] | None = None,
    log_to: LogTo = None,
    **settings: Any,
) -> SearchResult:
    """Find the augmentation with which a model generalises best to other subjects.

    Parameters
    ----------
    train : Windows
        Windows to train on; these are augmented.
    valid : Windows
        Windows of other subjects, which policies are evaluated on.
    method : str
        Name of the method. ``"auto"`` races policies by full training runs, in which training and
        validation subjects take turns, and returns no augmentation where nothing is better;
        `cadda.searchers.registry.METHODS` describes all.
    classwise : bool | None
        Whether to find a policy for each class. None is the default of the method: True for
        ``"cadda"``, which is class-wise ``"adda"``, False for others.
    model : str | nn.Module | callable
        The model to find augmentation for; see `cadda.fit`.
    operations : sequence of str or Operation | OperationPool | None
        Operations to choose from: names, operations of your own, also as ``"module:Class"``,
        ``"paper"`` for those of the paper, ``"default"``, ``"all"``, or a pool; None for the
        default pool. Only those that are applicable to the montage are taken.
    operation_settings : mapping of str to mapping | None
        Settings that are not the default, by name of the operation, such as
        ``{"frequency_shift": {"symmetric": True, "max_shift": 10.0}}``. The policy has them, too.
    probe : bool | ProbeResult | path-like | None
        What operations do to classes, see `cadda.probe`: a result, or the file of one; True probes
        the training windows first, with this model. The search chooses from the operations that
        pass, with their label maps, up to the magnitudes where they do. None probes for the
        methods that need it, ``"auto"`` and ``"guided"``, all windows.
    budget : int | None
        Number of epochs of the search, of trials, or of training runs for ``"auto"``; None for the
        default of the method: 50 epochs or trials, 120 training runs.
    max_seconds : float | None
        Time after which probe and search stop early, without the time for retraining.
    retrain_every : int | None
        Retrain from scratch with the current policy every so many epochs or trials. The result is
        the policy with the lowest validation loss, with its model. None retrains at the end only.
    retrain : bool
        Whether to train a model from scratch with the policy at the end. `policy.json` is in
        ``run_dir`` before that.
    baseline : bool
        Whether to train a model without augmentation too, for comparison.
    training : TrainingSettings | None
        Settings of all models that are trained: with the policy, without augmentation, and to try
        policies; None for the defaults of `cadda.fit`.
    trial_epochs : int | None
        Most epochs of the models that policies are tried with, for a quicker search; those with
        the final policy and without augmentation are trained as `training` says. None for as
        many as these.
    preset : 'paper' | None
        ``"paper"`` for the settings of the paper; None for the defaults.
    seed : int
        Seed of all random numbers: the same seed gives the same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    engine : str
        Where probe, trials and training runs run: ``"serial"``, ``"processes:N"``,
        ``"dask:ADDRESS"`` or ``"dask:local:N"``, with the same result. ``"auto"`` uses all cores
        if the search is long enough. Methods by gradients are sequential and need ``"serial"`` or
        ``"auto"``.
    run_dir : path-like | None
        Folder for configuration, policy, events, checkpoints and figures. A search that it already
        has is continued, if its arguments are the same.
    resume : bool | None
        False raises an error if ``run_dir`` already has a search; True also continues an Optuna
        study in a database (`storage`) that is not that of ``run_dir``.
    data : str | None
        Where the windows come from; written to the run folder.
    reading : Reading | None
        The call that made the windows; written to the run folder.
    progress : bool
        Whether to show the progress of a search that takes longer than a few seconds: a display in
        a terminal, a few lines elsewhere.
    on_event : callable | None
        Called with every event of search and retraining.
    log_to : str | sequence of str | None
        Experiment trackers that get every epoch, trial or round: ``"tensorboard:FOLDER"``,
        ``"mlflow"`` or ``"mlflow:URI"``, ``"wandb"`` or ``"wandb:PROJECT"``.
    **settings : object
        Settings of the method, such as ``estimator="straight-through"`` or ``n_stages=1``: see
        `BilevelSettings`, `FasterSettings`, `TrialSettings` and `PopulationSettings`.

    Returns
    -------
    SearchResult
        The policy, and how it was found. What `SearchResult.warnings` has is also issued as a
        warning.
    """
    check_setting_names(method, settings)
    problem = make_problem(
        train,
        valid,
        model=model,
        operations=operations,
        operation_settings=operation_settings,
        device=device,
    )
    display = partial(SearchDisplay, repr(train))
    with shown_progress(display, on_event, progress=progress) as report:
        result = search_problem(
            problem,
            probe=probe_source(
                probe,
                train,
                valid,
                method=method,
                model=model,
                operations=operations,
                operation_settings=operation_settings,
                training=training,
                seed=seed,
                device=device,
                on_event=report,
            ),
            method=method,
            classwise=classwise,
            budget=budget,
            max_seconds=max_seconds,
            retrain_every=retrain_every,
            retrain=retrain,
            baseline=baseline,
            training=training,
            trial_epochs=trial_epochs,
            preset=preset,
            seed=seed,
            engine=engine,
            run_dir=run_dir,
            resume=resume,
            data=data,
            reading=reading and reading.with_filters(train.filters),
            own_operations=locate_operations(operations),
            on_event=report,
            log_to=log_to,
            **settings,
        )
    if result.warnings:
        warn_user(f"{'; '.join(result.warnings)}.")
    return result


def check_setting_names(method: str, names: Iterable[str]) -> None:
    """Raise if a name is not one of a setting; it may be meant as an argument of `search`."""
    find_method(method).check_setting_names(names, signature(search).parameters)


def probe_source(
    probe: ProbeLike,
    train: Windows,
    valid: Windows,
    *,
    method: str,
    model: ModelSource,
    operations: Operations,
    operation_settings: Mapping[str, Settings] | None,
    training: TrainingSettings | None,
    seed: int,
    device: Device,
    on_event: Callable[[RunEvent], None] | None,
) -> ProbeSource:
    """Return the probe of a search, or what runs it; None for a search without one.

    Models of the probe are not trained for longer than those of the search.
    """
    max_epochs = (training or TrainingSettings()).max_epochs
    chosen = find_method(method)
    needed = chosen.needs_probe
    if probe is False and needed:
        raise ValueError(f"`probe` must not be False for {method}, which begins with a probe.")
    if not probe and not needed:
        return None
    if probe is None or isinstance(probe, bool):
        return lambda checkpoint, workers: run_probe(
            lambda _problem, _n_folds: nullcontext(workers),
            # Where subjects take turns, all of them may be probed.
            join_windows(train, valid) if chosen.takes_turns else train,
            model=model,
            operations=operations,
            operation_settings=operation_settings,
            seed=int(seed),
            device=device,
            checkpoint=checkpoint,
            progress=False,
            on_event=on_event,
            n_epochs=min(ProbeSettings().n_epochs, max_epochs),
        )
    return probe if isinstance(probe, ProbeResult) else ProbeResult.load(probe)
