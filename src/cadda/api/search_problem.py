"""A search on an existing problem: its run folder, its probe, its result."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from cadda.api.result import SearchResult, result_of, write_policy, write_result
from cadda.api.search_request import SearchRequest
from cadda.compute import Engine, open_engine
from cadda.exceptions import RunError
from cadda.probing.probe_result import ProbeResult
from cadda.runs.events import EventLog, RunEvent
from cadda.runs.folder import RunFolder
from cadda.searchers.retraining import AnyPolicy
from cadda.searchers.runner import SearchContext
from cadda.tracking import LogTo, open_trackers, tee
from cadda.tracking.trackers import find_trackers
from cadda.training import Problem

__all__ = ["ProbeSource", "find_probe", "search_problem"]

ProbeSource: TypeAlias = ProbeResult | Callable[[Path | None, Engine], ProbeResult] | None
"""A probe, or what runs it on an engine and keeps its finished folds in a file."""


def search_problem(
    problem: Problem,
    *,
    probe: ProbeSource = None,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    log_to: LogTo = None,
    held: ExitStack | None = None,
    **arguments: Any,  # of `SearchRequest.make`
) -> SearchResult:
    """Run `search` on an existing problem; the run folder stays locked as long as `held`."""
    find_trackers(log_to)
    request = SearchRequest.make(problem, **arguments)
    folder = None if run_dir is None else RunFolder(Path(run_dir))
    continues = _continues(folder, resume)
    # The engine first: one that cannot be reached must not leave a folder, nor a database.
    with (
        open_engine(request.engine) as workers,
        open_trackers(log_to, request.logged) as trackers,
        ExitStack() as own_resources,
    ):
        report = trackers if on_event is None else tee(trackers, on_event)
        if folder is not None:
            request.method.check_storage(request.settings, resume=continues)
            (held or own_resources).enter_context(folder.in_use("search"))
        result = _run(request, probe, folder, workers, report, continues=continues)
        trackers.log_text("policy", str(result))
        if folder is not None:
            write_result(folder, result)
    return result


def _run(
    request: SearchRequest,
    probe: ProbeSource,
    folder: RunFolder | None,
    workers: Engine,
    report: Callable[[RunEvent], None],
    *,
    continues: bool,
) -> SearchResult:
    """Probe and search, in a folder that is locked, or without one."""
    start = perf_counter()
    found = find_probe(probe, folder, workers)
    probe_seconds = perf_counter() - start
    request = request.with_probe(found)
    provenance, pool = request.provenance, request.problem.pool
    if folder is not None:
        folder.begin(request.config(), found)
    events = None if folder is None else EventLog(folder.events)
    context = SearchContext(
        request.budget,
        workers,
        classwise=request.classwise,
        files=None if folder is None else folder.search_files,
        resume=continues,
        on_event=report if events is None else tee(events, report),
        on_training=report,
        on_found=_ignore
        if folder is None
        else partial(write_policy, folder, provenance=provenance, pool=pool),
        probe=found,
        probe_seconds=probe_seconds,
    )
    runner = request.method.make_runner(request.problem, request.settings, context)
    if events is not None:
        events.rewrite(runner.history)
    report(request.start_event(runner, context))
    runner.run()
    return result_of(runner, provenance, request.notes)


def find_probe(
    probe: ProbeSource, folder: RunFolder | None, workers: Engine
) -> ProbeResult | None:
    """Run the probe of a search, or the rest of it if an earlier process was interrupted."""
    if probe is None or isinstance(probe, ProbeResult):
        return probe
    if folder is None:
        return probe(None, workers)
    if folder.probe.exists():
        return ProbeResult.load(folder.probe)
    return probe(folder.probing, workers)


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
