"""The jobs of a study on the screen while they are done."""

from __future__ import annotations

from time import perf_counter
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from cadda.cli.experiment_display import duration, job_in_words
from cadda.experiments.runner import JobEnd
from cadda.tracking.display import Display

__all__ = ["JobDisplay"]

SECONDS_PER_LINE = 15.0


class JobDisplay(Display):
    """Shows jobs while they are done: a bar in a terminal, a line now and then elsewhere.

    Use it as a context and as the receiver of events.

    Parameters
    ----------
    n_jobs : int
        How many jobs there are.
    n_done : int
        How many of them are done already.
    seconds : float
        About how long they take.
    """

    def __init__(self, n_jobs: int, n_done: int, seconds: float) -> None:
        super().__init__(Console(stderr=True, highlight=False))
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._drawn = self._bar = Progress(*columns, console=self.console, transient=True)
        self._words = f"jobs, about {duration(seconds)} left"
        self._task = self._bar.add_task(self._words, completed=n_done, total=n_jobs)
        self._n_jobs, self._n_done, self._shown = n_jobs, n_done, perf_counter()

    def __enter__(self) -> Self:
        """Start to show."""
        if not self.console.is_terminal and self._n_done < self._n_jobs:
            self.console.print(f"{self._n_done} of {self._n_jobs} {self._words}")
        return super().__enter__()

    def __call__(self, event: JobEnd) -> None:
        """Show that a job has ended.

        Parameters
        ----------
        event : JobEnd
            Which one, and what is left.
        """
        is_last = event.done == event.total
        left = "" if is_last else f", about {duration(event.seconds_left)} left"
        words = f"jobs{left}: {job_in_words(event.job)}"
        if event.error is not None:
            line = f"failed: {job_in_words(event.job)}: {event.error}"
            self.console.print(line, markup=False, soft_wrap=True)
        if self.console.is_terminal:
            self._bar.update(self._task, completed=event.done, description=words)
        elif perf_counter() - self._shown > SECONDS_PER_LINE or is_last:
            self._shown = perf_counter()
            line = f"{event.done} of {event.total} {words}"
            self.console.print(line, markup=False, soft_wrap=True)
