"""Progress of a screening: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

from time import perf_counter

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cadda.screening.settings import ScreeningProgress
from cadda.tracking.display import Display

__all__ = ["ScreeningDisplay"]

N_LINES = 10
"""Approximate number of lines that a screening prints outside a terminal."""

BAR_WIDTH = 10
"""With the text beside it, the bar fits in 80 columns."""


class ScreeningDisplay(Display):
    """Shows the progress of a screening; a context manager that receives events."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._drawn = self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(BAR_WIDTH),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left at most"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._started, self._phase, self._line = perf_counter(), "", 0

    def __call__(self, event: ScreeningProgress) -> None:
        """Show an event."""
        phase = "Trying operations" if event.n_rounds else "Training until the model overfits"
        if phase != self._phase:
            self._phase = phase
            self.console.print(phase, highlight=False)
        text = f"epoch {event.epoch}, training accuracy {event.accuracy:.2f}"
        if self.console.is_terminal:
            self._progress.update(
                self._task, completed=event.done, total=event.total, description=text
            )
        else:
            self._print_line(event, text)

    def _print_line(self, event: ScreeningProgress, text: str) -> None:
        """Print a line for every tenth of the work."""
        line = N_LINES * event.done // event.total
        if line > self._line:
            self._line = line
            left = (perf_counter() - self._started) * (event.total / event.done - 1)
            self.console.print(
                f"{event.done / event.total:.0%}: {text}, at most {left:.0f} s left",
                highlight=False,
                soft_wrap=True,
            )
