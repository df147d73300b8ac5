"""Jobs on the screen while they run."""

from __future__ import annotations

from time import perf_counter
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from cadda.tracking.display import Display

__all__ = ["JobDisplay", "format_duration"]

SECONDS_PER_LINE = 15.0


class JobDisplay(Display):
    """Shows jobs while they run: a bar in a terminal, a line now and then elsewhere."""

    def __init__(self, n_jobs: int, n_done: int, seconds_left: float) -> None:
        super().__init__(Console(stderr=True, highlight=False))
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._drawn = self._bar = Progress(*columns, console=self.console, transient=True)
        self._text = f"jobs, about {format_duration(seconds_left)} left"
        self._task = self._bar.add_task(self._text, completed=n_done, total=n_jobs)
        self._n_jobs, self._n_done, self._shown = n_jobs, n_done, perf_counter()

    def __enter__(self) -> Self:
        """Start to show."""
        if not self.console.is_terminal and self._n_done < self._n_jobs:
            self.console.print(f"{self._n_done} of {self._n_jobs} {self._text}")
        return super().__enter__()

    def show(self, job: str, error: str | None, n_done: int, seconds_left: float) -> None:
        """Show that a job has ended, with its error if it failed."""
        is_last = n_done == self._n_jobs
        left = "" if is_last else f", about {format_duration(seconds_left)} left"
        text = f"jobs{left}: {job}"
        if error is not None:
            self.console.print(f"failed: {job}: {error}", markup=False, soft_wrap=True)
        if self.console.is_terminal:
            self._bar.update(self._task, completed=n_done, description=text)
        elif perf_counter() - self._shown > SECONDS_PER_LINE or is_last:
            self._shown = perf_counter()
            self.console.print(f"{n_done} of {self._n_jobs} {text}", markup=False, soft_wrap=True)


def format_duration(seconds: float) -> str:
    """Format a time such as ``"40 s"``, ``"12 min"`` or ``"3.5 h"``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
