"""Workers of Dask, on this machine or on many."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

from cadda._internal.optional import import_optional
from cadda.compute.allocation import keep_freed_memory
from cadda.compute.base import Engine
from cadda.compute.processes import ATTEMPTS
from cadda.exceptions import CaddaError, WorkerError

__all__ = ["DaskEngine", "open_dask"]

SECONDS_TO_FETCH = 60.0
"""After which a result that does not arrive, as its worker has gone meanwhile, is lost."""

_turn = Lock()

P = ParamSpec("P")
T = TypeVar("T")


class _Task(NamedTuple):
    function: Callable[..., object]  # with any arguments, which Dask passes on
    args: tuple[object, ...]
    kwargs: dict[str, object]


def open_dask(where: str) -> DaskEngine:
    """Connect to a scheduler, or start one here."""
    distributed = import_optional("distributed", "`engine` 'dask:…'", "dask")
    if where.startswith("local:"):
        cluster = distributed.LocalCluster(
            n_workers=int(where.removeprefix("local:")),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        )
        return DaskEngine(distributed.Client(cluster), cluster)
    try:
        client = distributed.Client(where, timeout=_seconds_to_wait())
    except (OSError, ValueError) as error:
        raise CaddaError(
            f"`engine` 'dask:{where}' cannot be reached ({type(error).__name__}); is a scheduler "
            "running at that address?"
        ) from error
    # This is what distributed raises for an address with TLS but no certificate.
    except TypeError as error:
        raise CaddaError(
            f"`engine` 'dask:{where}' needs certificates; set those of `distributed.comm.tls` in "
            "the configuration of Dask."
        ) from error
    try:
        _await_worker(client)
    except TimeoutError as error:
        client.close()
        raise CaddaError(
            f"`engine` 'dask:{where}': the scheduler has no workers; start some, or wait longer "
            "with `distributed.comm.timeouts.connect` of Dask."
        ) from error
    return DaskEngine(client)


def _await_worker(client: Any) -> None:
    """Wait until there is a worker; a task makes an adaptive cluster start one."""
    client.submit(int, pure=False).result(timeout=_seconds_to_wait())


def _seconds_to_wait() -> float:
    """Return the setting of Dask, which users raise where workers wait in a queue."""
    from dask import config
    from dask.utils import parse_timedelta

    return float(parse_timedelta(config.get("distributed.comm.timeouts.connect")))


class _Scattered:
    """A value on the workers, kept here as well in case they all leave."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.future: Any = None


class DaskEngine(Engine):
    """Runs tasks on the workers of a Dask cluster, which may come and go.

    A ``cluster`` is closed with the engine. Dask's active memory manager is stopped until then.
    """

    def __init__(self, client: Any, cluster: Any = None) -> None:
        super().__init__(1)
        self._client, self._cluster = client, cluster
        # It removes copies of shared values from workers that have nothing to do for two seconds,
        # such as at the end of each block of a race, and they would have to be sent again.
        self._has_stopped_manager = bool(client.amm.running())
        if self._has_stopped_manager:
            client.amm.stop()

    @property
    def n_workers(self) -> int:
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def share(self, value: object) -> Any:
        shared = _Scattered(value)
        self._scatter(shared)
        return shared

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        answer: Future[T] = Future()
        self._begin(answer, _Task(function, args, kwargs), ATTEMPTS)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Disconnect from the cluster; close it if it was started here."""
        if self._has_stopped_manager and self._cluster is None:
            # The scheduler may have gone.
            with suppress(Exception):
                self._client.amm.start()
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _scatter(self, shared: _Scattered) -> None:
        _await_worker(self._client)
        shared.future = self._client.scatter(shared.value, broadcast=True, hash=False)

    def _begin(self, answer: Future[Any], task: _Task, n_left: int) -> None:
        sent = [arg.future if isinstance(arg, _Scattered) else arg for arg in task.args]
        begun = self._client.submit(run_alone, task.function, *sent, pure=False, **task.kwargs)
        begun.add_done_callback(lambda done: self._end(done, answer, task, sent, n_left - 1))

    def _end(
        self, done: Any, answer: Future[Any], task: _Task, sent: list[Any], n_left: int
    ) -> None:
        """Pass a result on, or start again if it or shared values were lost with their workers."""
        try:
            answer.set_result(done.result(timeout=SECONDS_TO_FETCH))
        except (CancelledError, TimeoutError) as error:
            if done.status == "error":
                answer.set_exception(error)
            else:
                self._begin_again(answer, task, sent, n_left)
        except Exception as error:
            killed = type(error).__name__ == "KilledWorker"
            answer.set_exception(WorkerError(f"{error}") if killed else error)

    def _begin_again(self, answer: Future[Any], task: _Task, sent: list[Any], n_left: int) -> None:
        if not n_left:
            answer.set_exception(
                WorkerError(f"workers died {ATTEMPTS} times while running a task.")
            )
            return
        try:
            for arg, future in zip(task.args, sent, strict=True):
                # Another task that lost it may have sent it again already.
                if isinstance(arg, _Scattered) and arg.future is future:
                    self._scatter(arg)
            self._begin(answer, task, n_left)
        # Without an answer, the search would wait for ever.
        except Exception as error:
            answer.set_exception(WorkerError(f"no worker is left for a task ({error})."))


def run_alone(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function while no other task runs in this process.

    Dropout draws from a generator that the whole process shares: two models trained in two threads
    would take random numbers from each other.
    """
    keep_freed_memory()
    with _turn:
        return function(*args, **kwargs)
