"""Engines by name, what every engine offers, and the one that works here and now."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

__all__ = ["Engine", "SerialEngine", "check_engine", "open_engine"]

MAX_WORKERS = 1024
"""Processes that an engine starts at most."""

FORMS = "'serial', 'processes:N', 'dask:ADDRESS' or 'dask:local:N'"

P = ParamSpec("P")
T = TypeVar("T")


class Engine(Executor):
    """An executor of ``concurrent.futures``; leaving its context cancels unfinished tasks."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        """Number of workers, which may change on a cluster."""
        return self._n_workers

    @abstractmethod
    def share(self, value: object) -> Any:
        """Send a large value to the workers, once to each; pass the result to `submit`."""

    @abstractmethod
    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a task; shared values among the arguments arrive as themselves."""

    def finished(self, futures: Sequence[Future[Any]]) -> Iterator[Future[Any]]:
        """Yield each task as soon as it is done."""
        return as_completed(futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers."""
        self.shutdown(wait=False, cancel_futures=True)


class _DeferredFuture(Future[T]):
    """A task that runs when its result is requested."""

    def __init__(self, task: Callable[[], T]) -> None:
        super().__init__()
        self._task = task

    def result(self, timeout: float | None = None) -> T:
        """Run the task, unless it ran before, and return its result."""
        if not self.done():
            try:
                self.set_result(self._task())
            except Exception as error:
                self.set_exception(error)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Run the task, unless it ran before, and return its error if it failed."""
        try:
            self.result(timeout)
        except Exception as error:
            return error
        return None


class SerialEngine(Engine):
    """Runs each task in this process, when its result is requested."""

    def __init__(self) -> None:
        super().__init__(1)

    def share(self, value: object) -> Any:
        return value

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return _DeferredFuture(partial(function, *args, **kwargs))

    def finished(self, futures: Sequence[Future[Any]]) -> Iterator[Future[Any]]:
        for future in futures:
            future.exception()
            yield future


def check_engine(text: str) -> str:
    """Check the name of an engine, and return it."""
    counted = re.fullmatch(r"(processes|dask:local):(\d{1,5})", text)
    if counted and 1 <= int(counted[2]) <= MAX_WORKERS:
        return text
    kind, _, rest = text.partition(":")
    if text == "serial" or (kind == "dask" and rest and not rest.startswith("local")):
        return text
    raise ValueError(f"`engine` must be {FORMS} with N from 1 to {MAX_WORKERS}, got {text!r}.")


def open_engine(text: str) -> Engine:
    """Start an engine; use it as a context manager, so that its workers end."""
    kind, _, rest = check_engine(text).partition(":")
    if kind == "serial":
        return SerialEngine()
    if kind == "processes":
        from cadda.compute.processes import ProcessEngine

        return ProcessEngine(int(rest))
    from cadda.compute.cluster import open_dask

    return open_dask(rest)
