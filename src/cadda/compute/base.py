"""What every engine offers, and the one that works here and now."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from functools import partial
from types import TracebackType
from typing import Any

__all__ = ["Engine", "SerialEngine"]


class Engine(Executor):
    """Something that does independent work, as a ``concurrent.futures.Executor`` does.

    Leaving its context gives up what is not finished.

    Parameters
    ----------
    n_workers : int
        How many tasks are worked on at the same time.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    @abstractmethod
    def share(self, value: object) -> Any:
        """Make a big value known to the workers, so that it reaches each of them once.

        Parameters
        ----------
        value : object
            Anything that can be pickled; functions and classes may be local.

        Returns
        -------
        object
            To be given to `submit` among the arguments; the function gets the value.
        """

    @abstractmethod
    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a task done.

        Parameters
        ----------
        function : callable
            What to call.
        *args : object
            Its arguments.
        **kwargs : object
            Its named arguments.

        Returns
        -------
        Future
            Its result; `WorkerError` if workers died over it again and again.
        """

    def finished(self, futures: Sequence[Future[Any]]) -> Iterator[Future[Any]]:
        """Wait for tasks, and give each as soon as it is done.

        Parameters
        ----------
        futures : sequence of Future
            What `submit` gave, all different.

        Yields
        ------
        Future
            A task that is done, or has failed.
        """
        return as_completed(futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers."""
        self.shutdown(wait=False, cancel_futures=True)


class _Later(Future[Any]):
    """A task that is done when somebody asks for its result."""

    def __init__(self, task: Callable[[], Any]) -> None:
        super().__init__()
        self._task = task

    def result(self, timeout: float | None = None) -> Any:
        """Do the task, unless it was done before."""
        if not self.done():
            try:
                self.set_result(self._task())
            except Exception as error:
                self.set_exception(error)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Do the task, unless it was done before, and say whether it failed."""
        try:
            self.result(timeout)
        except Exception as error:
            return error
        return None


class SerialEngine(Engine):
    """Does each task in this process, at the moment when its result is asked for."""

    def __init__(self) -> None:
        super().__init__(1)

    def share(self, value: object) -> Any:
        return value

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return _Later(partial(function, *args, **kwargs))

    def finished(self, futures: Sequence[Future[Any]]) -> Iterator[Future[Any]]:
        for future in futures:
            future.exception()
            yield future
