"""Events on the screen: a progress bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cadda.training.events import EpochEnd, TrainingEvent

__all__ = ["TrainingDisplay"]

EPOCHS_PER_LINE = 10


class TrainingDisplay:
    """Shows a training while it runs; use it as a context and as the receiver of events.

    Parameters
    ----------
    patience : int
        Epochs without a better validation before training stops.
    console : Console | None
        Where to show it; None takes standard error.
    """

    def __init__(self, patience: int, console: Console | None = None) -> None:
        self.patience = patience
        self.console = console or Console(stderr=True)
        self._progress = Progress(
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

    def __enter__(self) -> Self:
        """Start to show."""
        if self.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the screen as it was."""
        self._progress.stop()

    def __call__(self, event: TrainingEvent) -> None:
        """Show one event.

        Parameters
        ----------
        event : event
            What happened.
        """
        if not isinstance(event, EpochEnd):
            return
        if event.is_best:
            self._best_epoch = event.epoch
        words = (
            f"loss {event.train_loss:.3f}, validation {event.valid_loss:.3f}, "
            f"balanced accuracy {event.valid_balanced_accuracy:.3f}"
        )
        if self.console.is_terminal:
            last = min(event.max_epochs, self._best_epoch + self.patience)
            if self._task is None:
                self._task = self._progress.add_task("", total=last)
            self._progress.update(self._task, completed=event.epoch, total=last, description=words)
        elif event.epoch % EPOCHS_PER_LINE == 1:
            self.console.print(f"epoch {event.epoch}: {words}", highlight=False)
