"""The progress of work in steps: a bar in a terminal, a few lines elsewhere."""

from __future__ import annotations

from typing import Self, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Step", "StepDisplay"]

N_LINES = 10
"""Approximate number of lines outside a terminal."""

Step: TypeAlias = tuple[int, int, str]
"""Number of steps done, their total, and the name of the next one."""


class StepDisplay:
    """Shows how far an action such as ``reading`` is; a context manager that receives steps."""

    def __init__(self, action: str, console: Console | None = None) -> None:
        self.action = action
        self.console = console or Console(stderr=True, highlight=False)
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        text = TextColumn("{task.description}")
        self._bar = Progress(text, *columns, console=self.console, transient=True)
        self._task = self._bar.add_task("", total=None, visible=False)
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

    def __call__(self, step: Step) -> None:
        """Show a step."""
        done, total, name = step
        if self.console.is_terminal:
            text = escape(f"{self.action} {name}")
            self._bar.update(
                self._task, completed=done, total=total, description=text, visible=True
            )
            return
        line = N_LINES * done // total
        if line > self._line and done < total:
            self._line = line
            text = f"{self.action} {name}, {done + 1} of {total}"
            self.console.print(text, markup=False, soft_wrap=True)
