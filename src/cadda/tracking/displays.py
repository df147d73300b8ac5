"""Displays of progress: bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Self, TypeVar

from rich.console import Console
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cadda.probing.probe import ProbeProgress
from cadda.training.progress import EpochEnd, TrainingEvent, describe_accuracy

__all__ = [
    "Display",
    "JobDisplay",
    "ProbeDisplay",
    "TrainingDisplay",
    "format_duration",
    "tee",
]

EPOCHS_PER_LINE = 10
SECONDS_PER_LINE = 15.0
N_LINES = 10
"""Approximate number of lines that a probe prints outside a terminal."""
BAR_WIDTH = 10
"""With the text beside it, the bar fits in 80 columns."""

Event = TypeVar("Event")


class Display:
    """A context manager that draws `_drawn`, set by a subclass, if there is a terminal."""

    _drawn: Live | Progress

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)

    def __enter__(self) -> Self:
        """Start to draw."""
        if self.console.is_terminal:
            self._drawn.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Clear the display."""
        # Stopping what was never started would print an empty line.
        if self.console.is_terminal:
            self._drawn.stop()


def tee(*receivers: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return a function that passes an event to several receivers, in this order."""

    def report(event: Event) -> None:
        for receive in receivers:
            receive(event)

    return report


class TrainingDisplay(Display):
    """Shows the progress of training; a context manager that receives events."""

    def __init__(self, patience: int, console: Console | None = None) -> None:
        super().__init__(console)
        self.patience = patience
        self._drawn = self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            TextColumn("epoch {task.completed:.0f}, stops by {task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("left at most"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=self.console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._best_epoch = 0

    def __call__(self, event: TrainingEvent) -> None:
        """Show an event."""
        if not isinstance(event, EpochEnd):
            return
        if event.is_best:
            self._best_epoch = event.epoch
        text = (
            f"loss {event.train_loss:.3f}, validation {event.valid_loss:.3f}, "
            + describe_accuracy(event.valid_balanced_accuracy, event.missing_classes)
        )
        if self.console.is_terminal:
            last = min(event.max_epochs, self._best_epoch + self.patience)
            if self._task is None:
                self._task = self._progress.add_task("", total=last)
            self._progress.update(self._task, completed=event.epoch, total=last, description=text)
        elif event.epoch % EPOCHS_PER_LINE == 1:
            self.console.print(f"epoch {event.epoch}: {text}", highlight=False)

    def print_line(self, text: str) -> None:
        """Print a line that stays, such as the name of the next training run."""
        self.console.print(text, highlight=False, markup=False)


class ProbeDisplay(Display):
    """Shows the progress of a probe; a context manager that receives events."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._drawn = self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(BAR_WIDTH),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left about"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._started, self._line = perf_counter(), 0
        self._n_before: int | None = None

    def __call__(self, event: ProbeProgress) -> None:
        """Show an event."""
        if self._n_before is None:
            # Folds of a checkpoint took no time.
            self._n_before = (event.fold - 1) * event.n_epochs
        text = f"fold {event.fold} of {event.n_folds}, epoch {event.epoch}"
        if self.console.is_terminal:
            self._progress.update(
                self._task, completed=event.done, total=event.total, description=text
            )
        else:
            self._print_line(event, text, event.done - self._n_before)

    def _print_line(self, event: ProbeProgress, text: str, n_run: int) -> None:
        """Print a line for every tenth of the work."""
        line = N_LINES * event.done // event.total
        if line > self._line:
            self._line = line
            pace = (perf_counter() - self._started) / n_run
            left = (event.total - event.done) * pace
            self.console.print(
                f"{event.done / event.total:.0%}: {text}, about {left:.0f} s left",
                highlight=False,
                soft_wrap=True,
            )


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
