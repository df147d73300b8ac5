"""A search on an existing problem: its checks, its run folder, its result."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias

from cadda._internal.validation import check_positive, check_whole
from cadda._version import __version__
from cadda.api.result import SearchResult, result_of, write_policy, write_result
from cadda.compute import check_engine, open_engine
from cadda.compute.processes import n_cores
from cadda.data.splits import Split
from cadda.exceptions import RunError
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
from cadda.searchers.retraining import AnyPolicy, SearchBudget
from cadda.searchers.runner import SearchContext
from cadda.searchers.warnings import check_pool, check_problem
from cadda.tracking import LogTo, open_trackers, tee
from cadda.tracking.trackers import find_trackers
from cadda.training import Problem, TrainingSettings

__all__ = ["ProbeSource", "search_problem"]

MIN_SAMPLES = 10_000_000
"""Samples of all training windows of all training runs above which processes pay."""

ProbeSource: TypeAlias = ProbeResult | Callable[[Path | None], ProbeResult] | None
"""A probe, or what runs it and keeps its finished folds in a file."""


def search_problem(
    problem: Problem,
    *,
    probe: ProbeSource = None,
    method: str = "auto",
    classwise: bool | None = None,
    budget: int | None = None,
    max_seconds: float | None = None,
    retrain_every: int | None = None,
    retrain: bool = True,
    baseline: bool = True,
    training: TrainingSettings | None = None,
    trial_epochs: int | None = None,
    preset: Literal["paper"] | None = None,
    seed: int = 0,
    engine: str = "auto",
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    data: str | None = None,
    reading: Reading | None = None,
    test_subjects: tuple[str, ...] = (),
    on_event: Callable[[RunEvent], None] | None = None,
    log_to: LogTo = None,
    held: ExitStack | None = None,
    **settings: Any,
) -> SearchResult:
    """Run `search` on an existing problem; `test_subjects` are only written to the run folder.

    The run folder stays locked as long as `held`.
    """
    find_trackers(log_to)
    chosen = find_method(method)
    budget = chosen.default_budget if budget is None else budget
    classwise = _is_classwise(classwise, chosen, method)
    own = chosen.resolve_settings(settings, preset=preset, seed=seed)
    # Before the search, so that no argument can spoil its result.
    seed, data = int(seed), None if data is None else str(data)
    provenance = Provenance(
        method=method,
        seed=seed,
        data=data,
        package_version=__version__,
        preprocessing=None if reading is None else reading.preprocessing,
    )
    engine = _pick_engine(engine, chosen.max_parallel_trials(own), method, problem, budget)
    check_problem(problem, takes_turns=chosen.takes_turns)
    if chosen.needs_probe:
        check_pool(problem)
    chosen.check(problem, own)
    limits = SearchBudget(
        n_epochs=chosen.check_budget(budget, own),
        max_seconds=None if max_seconds is None else check_positive("max_seconds", max_seconds),
        retrain_at=_retrain_at(budget, retrain_every, at_end=retrain, baseline=baseline),
        training=training or TrainingSettings(seed=seed),
        trial_epochs=_check_trial_epochs(trial_epochs, chosen, method),
    )
    folder = None if run_dir is None else RunFolder(Path(run_dir))
    continues = _continues(folder, resume)
    logged = {
        **{"method": method, "classwise": classwise, "model": problem.description.model},
        **{"budget": budget, "seed": seed, "data": data},
        # The address of a database may contain a password.
        **{name: value for name, value in asdict(own).items() if name != "storage"},
    }
    # The engine first: one that cannot be reached must not leave a folder, nor a database.
    with (
        open_engine(engine) as workers,
        open_trackers(log_to, logged) as trackers,
        ExitStack() as own_resources,
    ):
        report = trackers if on_event is None else tee(trackers, on_event)
        if folder is not None:
            chosen.check_storage(own, resume=continues)
            (held or own_resources).enter_context(folder.in_use("search"))
        start = perf_counter()
        found = _find_probe(probe, folder)
        probe_seconds = perf_counter() - start
        problem, change, notes = _choose_operations(problem, chosen, found)
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
                split=_split_of(problem, test_subjects),
                probe=change,
            )
            folder.begin(config, found)
        events = None if folder is None else EventLog(folder.events)
        context = SearchContext(
            limits,
            workers,
            classwise=classwise,
            files=None if folder is None else folder.search_files,
            resume=continues,
            on_event=report if events is None else tee(events, report),
            on_training=report,
            on_found=_ignore
            if folder is None
            else partial(_write_found, folder, provenance, problem.pool),
            probe=found,
            probe_seconds=probe_seconds,
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
                notes=notes,
                max_seconds=None
                if max_seconds is None
                else max(0.0, max_seconds - runner.probe_seconds),
                settings=problem.pool.settings,
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


def _check_trial_epochs(n: int | None, chosen: SearchMethod[Any], method: str) -> int | None:
    if n is not None and not chosen.trains_trials:
        raise ValueError(
            f"`trial_epochs` must be None for {method}, which does not train a model for each "
            f"policy that it tries, got {n}."
        )
    return None if n is None else check_whole("trial_epochs", n, 1)


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


def _retrain_at(
    budget: int, every: int | None, *, at_end: bool, baseline: bool
) -> tuple[int, ...]:
    first = (0,) if baseline else ()
    if every is None:
        return (*first, budget) if at_end else first
    step = int(check_positive("retrain_every", every))
    return (*first, *range(step, budget, step), budget)


def _find_probe(probe: ProbeSource, folder: RunFolder | None) -> ProbeResult | None:
    """Run the probe of a search, or the rest of it if an earlier process was interrupted."""
    if probe is None or isinstance(probe, ProbeResult):
        return probe
    if folder is None:
        return probe(None)
    if folder.probe.exists():
        return ProbeResult.load(folder.probe)
    return probe(folder.probing)


def _choose_operations(
    problem: Problem, chosen: SearchMethod[Any], probe: ProbeResult | None
) -> tuple[Problem, PoolChange | None, tuple[str, ...]]:
    """Restrict the operations to what probe and method allow; return notes on that as well."""
    change = None
    # A method that builds on the probe reads it itself.
    if probe is not None and not chosen.needs_probe:
        pool, change = probed_pool(problem.pool, probe)
        problem = replace(problem, make_pool=lambda: pool)
    problem, notes = chosen.restrict(problem)
    check_pool(problem)
    if chosen.needs_probe and probe is not None and not probe.is_useful:
        notes = (probe.summary().rstrip("."), *notes)
    return problem, change, notes if change is None else (change.note, *notes)


def _split_of(problem: Problem, test_subjects: tuple[str, ...]) -> Split:
    parts = (problem.train, problem.valid)
    train, valid = (tuple(dict.fromkeys(part.subject)) for part in parts)
    return Split(train, valid, test_subjects)


def _continues(folder: RunFolder | None, resume: bool | None) -> bool:  # noqa: FBT001
    """Return whether to continue a search that the folder, or a database, already has."""
    if folder is None:
        return bool(resume)
    folder.check_free()
    if folder.config.exists() and resume is False:
        raise RunError(
            f"{folder.folder} already contains a search; continue it without `resume=False`, or "
            "choose another folder."
        )
    return bool(resume) or folder.config.exists()


def _ignore(policy: AnyPolicy) -> None:
    """Ignore the policy, as there is no folder for it."""


def _write_found(
    folder: RunFolder, provenance: Provenance, pool: OperationPool, policy: AnyPolicy
) -> None:
    write_policy(folder, policy, provenance, pool)
