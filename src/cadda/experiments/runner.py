"""Does the jobs of a study that are missing, and keeps every result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

from cadda._internal.text import short_reason
from cadda.compute import Engine
from cadda.experiments.folder import StudyFolder
from cadda.experiments.plan import Plan, Progress
from cadda.experiments.preparing import Work
from cadda.experiments.study import Job, Result
from cadda.runs.config import versions
from cadda.searchers.trials.protocol import one_thread

__all__ = ["JobEnd", "run_missing"]


@dataclass(frozen=True)
class JobEnd:
    """A job was done, or failed.

    Parameters
    ----------
    job : dict
        Which one.
    error : str | None
        What went wrong, None if nothing.
    done : int
        How many jobs have ended, those of earlier runs included.
    total : int
        How many there are.
    seconds_left : float
        About how long the others take with these workers.
    """

    job: Job
    error: str | None
    done: int
    total: int
    seconds_left: float


def run_missing(
    work: Work,
    plan: Plan,
    folder: StudyFolder,
    engine: Engine,
    on_event: Callable[[JobEnd], None],
) -> Progress:
    """Do what is missing, and what failed before; a job that fails does not stop the others.

    Parameters
    ----------
    work : Work
        Study, settings and data.
    plan : Plan
        The jobs.
    folder : StudyFolder
        Where results are kept.
    engine : Engine
        Does the jobs.
    on_event : callable
        Called whenever a job has ended.

    Returns
    -------
    Progress
        What is done now.
    """
    results = folder.results
    missing = plan.progress(results.read()).missing
    n_jobs = len(plan.jobs)
    shared = engine.share(work)
    jobs = {engine.submit(_do, shared, job): job for job in missing}
    left = plan.seconds_of(missing)
    took = expected_of_those = 0.0
    for done, future in enumerate(engine.finished(list(jobs)), start=n_jobs - len(missing) + 1):
        job = jobs[future]
        expected = plan.seconds_of([job])
        record = plan.key(job) | {"expected": expected, "versions": asdict(versions())}
        error = None
        try:
            result, seconds = future.result()
            results.append(record | {"result": result, "seconds": seconds})
            took, expected_of_those = took + seconds, expected_of_those + expected
        # A study, or a user's model, can raise anything.
        except Exception as problem:
            error = f"{type(problem).__name__}: {short_reason(problem)}"
            results.append(record | {"error": error})
        left -= expected
        pace = took / expected_of_those if expected_of_those else 1.0
        on_event(JobEnd(job, error, done, n_jobs, pace * left / engine.n_workers))
    return plan.progress(results.read())


def _do(work: Work, job: Job) -> tuple[Result, float]:
    start = perf_counter()
    with one_thread():
        result = work.study.run(work.config, work.windows, job)
    return result, perf_counter() - start
