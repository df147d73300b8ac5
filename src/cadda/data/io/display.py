"""The progress of reading recordings: a bar in a terminal, a few lines elsewhere."""

from __future__ import annotations

from typing import Self, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["ReadingDisplay", "ReadingStep"]

N_LINES = 10
"""Approximate number of lines outside a terminal."""

ReadingStep: TypeAlias = tuple[int, int, str]
"""Number of recordings done, their total, and the name of the next one."""


class ReadingDisplay:
    """Shows how many recordings are read; a context manager that receives steps."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        text = TextColumn("reading {task.description}")
        self._bar = Progress(text, *columns, console=self.console, transient=True)
        self._task = self._bar.add_task("", total=None)
        self._line = -1

    def __enter__(self) -> Self:
        """Start to draw."""
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Clear the display."""
        # Stopping what was never started would print an empty line.
        if self.console.is_terminal:
            self._bar.stop()

    def __call__(self, step: ReadingStep) -> None:
        """Show a step."""
        done, total, name = step
        if self.console.is_terminal:
            self._bar.update(self._task, completed=done, total=total, description=escape(name))
            return
        line = N_LINES * done // total
        if line > self._line and done < total:
            self._line = line
            text = f"reading {name}, {done + 1} of {total} recordings"
            self.console.print(text, markup=False, soft_wrap=True)
