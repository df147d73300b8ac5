"""Progress of training: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cadda.tracking.display import Display
from cadda.training.events import EpochEnd, TrainingEvent

__all__ = ["TrainingDisplay"]

EPOCHS_PER_LINE = 10


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
            f"balanced accuracy {event.valid_balanced_accuracy:.3f}"
        )
        if self.console.is_terminal:
            last = min(event.max_epochs, self._best_epoch + self.patience)
            if self._task is None:
                self._task = self._progress.add_task("", total=last)
            self._progress.update(self._task, completed=event.epoch, total=last, description=text)
        elif event.epoch % EPOCHS_PER_LINE == 1:
            self.console.print(f"epoch {event.epoch}: {text}", highlight=False)
