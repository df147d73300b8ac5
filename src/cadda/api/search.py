"""Search for an augmentation policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cadda._internal.validation import check_positive
from cadda._version import __version__
from cadda.api.prepare import Device, join_windows, make_problem
from cadda.api.probe import probe as run_probe
from cadda.api.result import SearchResult, result_of, write_result
from cadda.compute import check_engine, open_engine
from cadda.compute.processes import n_cores
from cadda.data.splits import Split
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.models.registry import ModelSource
from cadda.operations.pool import OperationPool
from cadda.policies.spec.model import Provenance
from cadda.probing.probe_result import ProbeResult
from cadda.probing.probed_pool import PoolChange, probed_pool
from cadda.reporting.records import Reading
from cadda.runs.events import EventLog, RunEvent
from cadda.runs.folder import DataSource, RunFolder, SearchConfig
from cadda.searchers.events import SearchStart
from cadda.searchers.method import SearchMethod
from cadda.searchers.registry import find_method
from cadda.searchers.retraining import SearchBudget
from cadda.searchers.runner import SearchContext
from cadda.searchers.warnings import check_pool, check_problem
from cadda.tracking import LogTo, open_trackers, tee
from cadda.tracking.trackers import find_trackers
from cadda.training import Problem, TrainingSettings

__all__ = [
    "ProbeLike",
    "SearchResult",
    "check_setting_names",
    "probe_source",
    "search",
    "search_problem",
]

MIN_SAMPLES = 10_000_000
"""Samples of all training windows of all training runs above which processes pay."""

ProbeLike: TypeAlias = bool | ProbeResult | str | os.PathLike[str] | None
ProbeSource: TypeAlias = ProbeResult | Callable[[], ProbeResult] | None


def search(
    train: Windows,
    valid: Windows,
    *,
    method: str = "auto",
    classwise: bool | None = None,
    model: ModelSource = "chambon2018",
    operations: Sequence[str] | OperationPool | None = None,
    probe: ProbeLike = None,
    budget: int | None = None,
    max_seconds: float | None = None,
    retrain_every: int | None = None,
    baseline: bool = False,
    training: TrainingSettings | None = None,
    preset: Literal["paper"] | None = None,
    seed: int = 0,
    device: Device = "auto",
    engine: str = "auto",
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    data: str | None = None,
    reading: Reading | None = None,
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
    operations : sequence of str | OperationPool | None
        Operations to choose from: names, ``["paper"]`` for those of the paper, ``["all"]``, or a
        pool; None for the default pool. Only those that are applicable to the montage are taken.
    probe : bool | ProbeResult | path-like | None
        What operations do to classes, see `cadda.probe`: a result, or the file of one; True probes
        the training windows first, with this model. Operations with the label maps that it
        proposes are added, those that keep no class are left out. None probes for the methods
        that need it, ``"auto"`` and ``"guided"``, all windows.
    budget : int | None
        Number of epochs of the search, of trials, or of training runs for ``"auto"``; None for the
        default of the method: 50 epochs or trials, 100 training runs.
    max_seconds : float | None
        Time after which the search stops early, without the time for retraining.
    retrain_every : int | None
        Retrain from scratch with the current policy every so many epochs or trials. The result is
        the policy with the lowest validation loss, with its model. None never retrains and returns
        the last policy, or that of the best trial.
    baseline : bool
        Whether to train a model without augmentation too, for comparison.
    training : TrainingSettings | None
        Settings of retraining and of the models of trials; None for the defaults of `cadda.fit`.
    preset : 'paper' | None
        ``"paper"`` for the settings of the paper; None for the defaults.
    seed : int
        Seed of all random numbers: the same seed gives the same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    engine : str
        Where trials and training runs run: ``"serial"``, ``"processes:N"``, ``"dask:ADDRESS"`` or
        ``"dask:local:N"``, with the same result. ``"auto"`` uses all cores if the search is long
        enough. Methods by gradients are sequential and need ``"serial"`` or ``"auto"``.
    run_dir : path-like | None
        Folder for configuration, policy, events, checkpoints and figures.
    resume : bool
        Whether to resume an interrupted search in ``run_dir``.
    data : str | None
        Where the windows come from; written to the run folder.
    reading : Reading | None
        The call that made the windows; written to the run folder.
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
        The policy, and how it was found.
    """
    check_setting_names(method, settings)
    problem = make_problem(train, valid, model=model, operations=operations, device=device)
    return search_problem(
        problem,
        probe=probe_source(
            probe,
            train,
            valid,
            method=method,
            model=model,
            operations=operations,
            seed=seed,
            device=device,
            on_event=on_event,
        ),
        method=method,
        classwise=classwise,
        budget=budget,
        max_seconds=max_seconds,
        retrain_every=retrain_every,
        baseline=baseline,
        training=training,
        preset=preset,
        seed=seed,
        engine=engine,
        run_dir=run_dir,
        resume=resume,
        data=data,
        reading=reading,
        on_event=on_event,
        log_to=log_to,
        **settings,
    )


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
    operations: Sequence[str] | OperationPool | None,
    seed: int,
    device: Device,
    on_event: Callable[[RunEvent], None] | None,
) -> ProbeSource:
    """Return the probe of a search, or what runs it; None for a search without one."""
    chosen = find_method(method)
    needed = chosen.needs_probe
    if probe is False and needed:
        raise ValueError(f"`probe` must not be False for {method}, which begins with a probe.")
    if not probe and not needed:
        return None
    if probe is None or isinstance(probe, bool):
        return partial(
            run_probe,
            # Where subjects take turns, all of them may be probed.
            join_windows(train, valid) if chosen.takes_turns else train,
            model=model,
            operations=operations,
            seed=int(seed),
            device=device,
            on_event=on_event,
        )
    return probe if isinstance(probe, ProbeResult) else ProbeResult.load(probe)


def search_problem(
    problem: Problem,
    *,
    probe: ProbeSource = None,
    method: str = "auto",
    classwise: bool | None = None,
    budget: int | None = None,
    max_seconds: float | None = None,
    retrain_every: int | None = None,
    baseline: bool = False,
    training: TrainingSettings | None = None,
    preset: Literal["paper"] | None = None,
    seed: int = 0,
    engine: str = "auto",
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    data: str | None = None,
    reading: Reading | None = None,
    test_subjects: tuple[str, ...] = (),
    on_event: Callable[[RunEvent], None] | None = None,
    log_to: LogTo = None,
    **settings: Any,
) -> SearchResult:
    """Run `search` on an existing problem; `test_subjects` are only written to the run folder."""
    find_trackers(log_to)
    chosen = find_method(method)
    budget = chosen.default_budget if budget is None else budget
    classwise = _is_classwise(classwise, chosen, method)
    own = chosen.resolve_settings(settings, preset=preset, seed=seed)
    # Before the search, so that no argument can spoil its result.
    seed, data = int(seed), None if data is None else str(data)
    provenance = Provenance(method=method, seed=seed, data=data, package_version=__version__)
    engine = _pick_engine(engine, chosen.max_parallel_trials(own), method, problem, budget)
    check_problem(problem, takes_turns=chosen.takes_turns)
    if chosen.needs_probe:
        check_pool(problem)
    chosen.check(problem, own)
    limits = SearchBudget(
        n_epochs=chosen.check_budget(budget, own),
        max_seconds=None if max_seconds is None else check_positive("max_seconds", max_seconds),
        retrain_at=_retrain_at(budget, retrain_every, baseline=baseline),
        training=training or TrainingSettings(seed=seed),
    )
    folder = None if run_dir is None else RunFolder(Path(run_dir))
    if folder is not None:
        _check_new(folder, resume=resume)
    found = _find_probe(probe, folder)
    change = None
    # A method that builds on the probe reads it itself.
    if found is not None and not chosen.needs_probe:
        problem, change = _with_probe(problem, found)
    problem, notes = chosen.restrict(problem)
    check_pool(problem)
    # The engine first: one that cannot be reached must not leave a folder.
    logged = {
        **{"method": method, "classwise": classwise, "model": problem.description.model},
        **{"budget": budget, "seed": seed, "data": data},
        # The address of a database may contain a password.
        **{name: value for name, value in asdict(own).items() if name != "storage"},
    }
    with open_engine(engine) as workers, open_trackers(log_to, logged) as trackers:
        report = trackers if on_event is None else tee(trackers, on_event)
        if folder is not None:
            config = SearchConfig(
                data=DataSource(data, problem.train.digest, problem.valid.digest),
                reading=reading,
                method=method,
                classwise=classwise,
                model=problem.description.model,
                operations=problem.pool.names,
                seed=seed,
                settings=asdict(own),
                budget=limits,
                split=Split(
                    tuple(dict.fromkeys(problem.train.subject)),
                    tuple(dict.fromkeys(problem.valid.subject)),
                    test_subjects,
                ),
                probe=change,
            )
            # A database that cannot be reached must not leave a folder either.
            chosen.check_storage(own, resume=resume)
            folder.begin(config)
            if found is not None:
                found.save(folder.probe)
        events = None if folder is None else EventLog(folder.events)
        context = SearchContext(
            limits,
            workers,
            classwise=classwise,
            files=None if folder is None else folder.search_files,
            resume=resume,
            on_event=report if events is None else tee(events, report),
            on_training=report,
            probe=found,
        )
        runner = chosen.make_runner(problem, own, context)
        if events is not None:
            events.rewrite(runner.history)
        report(
            SearchStart(
                method=method,
                classwise=classwise,
                n_epochs=runner.n_epochs,
                epoch=runner.epoch,
                operations=problem.pool.names,
                class_names=problem.class_names,
                log10_policies=chosen.log10_policies(problem, own, classwise=classwise),
                warnings=chosen.start_warnings(problem, own, context),
                unit=chosen.unit,
                notes=notes if change is None else (change.note, *notes),
                max_seconds=max_seconds,
            )
        )
        runner.run()
        result = result_of(runner, provenance)
        trackers.log_text("policy", str(result))
    if folder is not None:
        write_result(folder, result)
    return result


# A method has settings of a type that only the method itself knows.
def _is_classwise(asked: bool | None, chosen: SearchMethod[Any], method: str) -> bool:  # noqa: FBT001
    if asked is not None and chosen.decides_classes:
        raise ValueError(
            f"`classwise` must be None for {method}, which decides that itself, got {asked}."
        )
    if asked is False and chosen.classwise:
        raise ValueError(
            f"`classwise` must not be False for {method}, which has a policy for each class; for "
            "one policy for all classes, use `method`='adda'."
        )
    return chosen.classwise if asked is None else asked


def _pick_engine(
    engine: str, max_parallel_trials: int | None, method: str, problem: Problem, budget: int
) -> str:
    """Return the engine of a search; ``"auto"`` uses processes where they pay."""
    if engine != "auto":
        if check_engine(engine) != "serial" and max_parallel_trials is None:
            raise ValueError(
                f"`engine` must be 'serial' for {method}, which is sequential, got {engine!r}; "
                "methods by trials, such as autoaugment, can use other engines."
            )
        return engine
    n_workers = min(n_cores(), max_parallel_trials or 1)
    # A GPU is busy with one training run; processes take seconds to start.
    is_long = problem.train.x.numel() * budget > MIN_SAMPLES
    if n_workers == 1 or problem.device.type != "cpu" or not is_long:
        return "serial"
    return f"processes:{n_workers}"


def _retrain_at(budget: int, every: int | None, *, baseline: bool) -> tuple[int, ...]:
    first = (0,) if baseline else ()
    if every is None:
        return first
    step = int(check_positive("retrain_every", every))
    return (*first, *range(step, budget, step), budget)


def _find_probe(probe: ProbeSource, folder: RunFolder | None) -> ProbeResult | None:
    """Run the probe of a search, unless an interrupted search in the folder has done so."""
    if probe is None or isinstance(probe, ProbeResult):
        return probe
    if folder is not None and folder.probe.exists():
        return ProbeResult.load(folder.probe)
    return probe()


def _with_probe(problem: Problem, probe: ProbeResult) -> tuple[Problem, PoolChange]:
    pool, change = probed_pool(problem.pool, probe)
    return replace(problem, make_pool=lambda: pool), change


def _check_new(folder: RunFolder, *, resume: bool) -> None:
    folder.check_free()
    if folder.config.exists() and not resume:
        raise RunError(
            f"{folder.folder} already contains a search; resume it with `resume=True`, or choose "
            "another folder."
        )
