"""Workers of Dask, on this machine or on many."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from importlib import import_module
from typing import Any

from cadda._internal.optional import probe
from cadda.compute.base import Engine
from cadda.compute.processes import ATTEMPTS
from cadda.compute.worker import run_alone
from cadda.exceptions import CaddaError, WorkerError

__all__ = ["DaskEngine", "open_dask"]

SECONDS_TO_CONNECT = 30


def open_dask(where: str) -> DaskEngine:
    """Connect to a scheduler, or start one here.

    Parameters
    ----------
    where : str
        Address of a scheduler, or ``local:N`` for N workers on this machine.

    Returns
    -------
    DaskEngine
        Ready for work.
    """
    problem = probe("distributed").problem
    if problem is not None:
        raise CaddaError(
            f"`engine` 'dask:…' needs Dask, but it cannot be imported ({problem}); "
            "try: pip install 'cadda[dask]'."
        )
    distributed: Any = import_module("distributed")
    if where.startswith("local:"):
        cluster = distributed.LocalCluster(
            n_workers=int(where.removeprefix("local:")),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        )
        return DaskEngine(distributed.Client(cluster), cluster)
    try:
        client = distributed.Client(where, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise CaddaError(
            f"`engine` 'dask:{where}' cannot be reached ({type(error).__name__}); is a scheduler "
            "running at that address?"
        ) from error
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except TimeoutError as error:
        client.close()
        raise CaddaError(
            f"`engine` 'dask:{where}': the scheduler has no workers; start some, and wait until "
            "they are there."
        ) from error
    return DaskEngine(client)


class _Scattered:
    """A value on the workers, and here in case that all who have it are gone."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.future: Any = None


class DaskEngine(Engine):
    """Works on the workers of a Dask cluster, which may come and go.

    Parameters
    ----------
    client : distributed.Client
        Connection to the scheduler.
    cluster : distributed.LocalCluster | None
        The cluster, if it shall end with the engine.
    """

    def __init__(self, client: Any, cluster: Any = None) -> None:
        super().__init__(max(1, len(client.scheduler_info(n_workers=-1)["workers"])))
        self._client, self._cluster = client, cluster

    def share(self, value: object) -> Any:
        shared = _Scattered(value)
        self._scatter(shared)
        return shared

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        self._begin(answer, (function, args, kwargs), ATTEMPTS)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Let go of the cluster; end it if it was started here.

        Parameters
        ----------
        wait : bool
            Not used: tasks whose results nobody waits for are given up.
        cancel_futures : bool
            Not used either.
        """
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _scatter(self, shared: _Scattered) -> None:
        shared.future = self._client.scatter(shared.value, broadcast=True, hash=False)

    def _begin(self, answer: Future[Any], task: tuple[Any, ...], n_left: int) -> None:
        function, args, kwargs = task
        values = [one.future if isinstance(one, _Scattered) else one for one in args]
        begun = self._client.submit(run_alone, function, *values, pure=False, **kwargs)
        begun.add_done_callback(lambda done: self._end(done, answer, task, n_left - 1))

    def _end(self, done: Any, answer: Future[Any], task: tuple[Any, ...], n_left: int) -> None:
        """Pass a result on, or begin again if the shared values were lost with their workers."""
        try:
            answer.set_result(done.result())
        except CancelledError:
            if not n_left:
                answer.set_exception(WorkerError(f"workers died {ATTEMPTS} times over a task."))
                return
            for one in task[1]:
                if isinstance(one, _Scattered):
                    self._scatter(one)
            self._begin(answer, task, n_left)
        except Exception as error:
            killed = type(error).__name__ == "KilledWorker"
            answer.set_exception(WorkerError(f"{error}") if killed else error)
