"""Jobs in worker processes, each returned as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from cadda.compute import open_engine

__all__ = ["Record", "run_jobs"]

Record = dict[str, Any]
JobType = TypeVar("JobType", bound=Hashable)


def run_jobs(
    missing: Callable[[], Iterable[JobType]], run: Callable[[JobType], Record], *, engine: str
) -> Iterator[tuple[JobType, Record | Exception]]:
    """Yield each job with its record, or with the error that it raised.

    ``missing`` returns the jobs that can be started now, in their order. It is called again after
    each job, so that a job can depend on the records of others. A job that fails is not repeated.
    """
    started: set[JobType] = set()
    running: dict[Future[Record], JobType] = {}
    with open_engine(engine) as workers:
        while True:
            for job in missing():
                if len(running) == workers.n_workers:
                    break
                if job not in started:
                    started.add(job)
                    running[workers.submit(run, job)] = job
            if not running:
                return
            future = next(iter(workers.finished(list(running))))
            yield running.pop(future), _outcome(future)


def _outcome(future: Future[Record]) -> Record | Exception:
    try:
        return future.result()
    except Exception as error:
        return error
