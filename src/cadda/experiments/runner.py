"""Running the jobs of a study, and keeping every result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TypeAlias

from cadda._internal.text import short_reason
from cadda.compute import Engine
from cadda.experiments.folder import StudyFolder
from cadda.experiments.plan import AnyPlan, AnyProgress, StudyRun
from cadda.experiments.study import JobResult, StudyJob
from cadda.runs.folder import versions
from cadda.searchers.trials.protocol import one_thread

__all__ = ["JobEnd", "StudyEvent", "StudyStart", "run_missing"]


@dataclass(frozen=True)
class StudyStart:
    """A study is about to run.

    Parameters
    ----------
    plan : StudyPlan
        The jobs.
    n_done : int
        Jobs that are finished already.
    n_reused : int
        Results copied from studies in neighbouring folders.
    n_other_results : int
        Results of other settings or data in the same folder.
    seconds_left : float
        Estimated time of the others with these workers.
    """

    plan: AnyPlan
    n_done: int
    n_reused: int
    n_other_results: int
    seconds_left: float


@dataclass(frozen=True)
class JobEnd:
    """A job has finished or failed.

    Parameters
    ----------
    job : StudyJob
        The job.
    error : str | None
        Why it failed.
    done : int
        Number of jobs that have ended, those of earlier runs included.
    total : int
        Number of all jobs.
    seconds_left : float
        Estimated time of the others with these workers.
    result : JobResult | None
        What it computed; None if it failed.
    """

    job: StudyJob
    error: str | None
    done: int
    total: int
    seconds_left: float
    result: JobResult | None = None


StudyEvent: TypeAlias = StudyStart | JobEnd


def run_missing(
    run: StudyRun,
    plan: AnyPlan,
    folder: StudyFolder,
    engine: Engine,
    on_event: Callable[[JobEnd], None],
) -> AnyProgress:
    """Run missing and failed jobs; a job that fails does not stop the others."""
    missing = plan.progress(run.study, folder.read_results()).missing
    n_jobs = len(plan.jobs)
    shared = engine.share(run)
    jobs = {engine.submit(_run_job, shared, job): job for job in missing}
    left = plan.seconds_of(missing)
    measured = expected_of_measured = 0.0
    for done, future in enumerate(engine.finished(list(jobs)), start=n_jobs - len(missing) + 1):
        job = jobs[future]
        line = plan.line(job).model_copy(update={"versions": asdict(versions())})
        error, result = None, None
        try:
            result, seconds = future.result()
            update = {"result": result.to_json(), "seconds": seconds}
            folder.append_result(line.model_copy(update=update))
            measured += seconds
            expected_of_measured += line.expected
        # A study, or a user's model, can raise anything.
        except Exception as problem:
            error = f"{type(problem).__name__}: {short_reason(problem)}"
            folder.append_result(line.model_copy(update={"error": error}))
        left -= line.expected
        pace = measured / expected_of_measured if expected_of_measured else 1.0
        on_event(JobEnd(job, error, done, n_jobs, pace * left / engine.n_workers, result))
    return plan.progress(run.study, folder.read_results())


def _run_job(run: StudyRun, job: StudyJob) -> tuple[JobResult, float]:
    start = perf_counter()
    with one_thread():
        result = run.study.run(run.config, run.windows, job)
    return result, perf_counter() - start
