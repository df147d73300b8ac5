"""Base of the displays of progress."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.live import Live
from rich.progress import Progress

__all__ = ["Display", "tee"]

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
