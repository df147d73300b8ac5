"""What all displays share: they draw in a terminal while their context lasts, and only there."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress import Progress

__all__ = ["Display"]


class Display:
    """A context in which a bar or a picture is drawn if there is a terminal.

    A subclass sets `_drawn`, what is to be drawn on `console`.

    Parameters
    ----------
    console : Console | None
        Where to show it; None takes standard error.
    """

    _drawn: Live | Progress

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)

    def __enter__(self) -> Self:
        """Start to show."""
        if self.console.is_terminal:
            self._drawn.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the screen as it was."""
        # To stop what was never started would print an empty line elsewhere.
        if self.console.is_terminal:
            self._drawn.stop()
