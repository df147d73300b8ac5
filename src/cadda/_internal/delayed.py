"""Displays for Python: what is over after a few seconds shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Generic, Protocol, Self, TypeVar

__all__ = ["DELAY", "shown_progress"]

DELAY = 3.0
"""Seconds before anything is shown."""

Event = TypeVar("Event")
Received = TypeVar("Received", contravariant=True)


class EventDisplay(Protocol[Received]):
    """A context manager that shows events."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_error: object) -> None: ...

    def __call__(self, event: Received, /) -> None:
        """Show an event."""


@contextmanager
def shown_progress(
    make_display: Callable[[], EventDisplay[Event]],
    on_event: Callable[[Event], None] | None,
    *,
    progress: bool,
) -> Iterator[Callable[[Event], None]]:
    """Yield what receives events: `on_event`, and a display once there is time to look at it."""
    report = on_event or (lambda event: None)
    if not progress:
        yield report
        return
    delayed = _Delayed(make_display())

    def show(event: Event) -> None:
        delayed(event)
        report(event)

    try:
        yield show
    finally:
        delayed.close()


class _Delayed(Generic[Event]):
    """A display that starts after a delay, with the events until then."""

    def __init__(self, display: EventDisplay[Event]) -> None:
        self._display, self._started = display, perf_counter()
        self._is_shown = False
        self._waiting: list[Event] = []

    def __call__(self, event: Event) -> None:
        self._waiting.append(event)
        if not self._is_shown and perf_counter() - self._started >= DELAY:
            self._is_shown = True
            self._display.__enter__()
        if self._is_shown:
            for each in self._waiting:
                self._display(each)
            self._waiting.clear()

    def close(self) -> None:
        if self._is_shown:
            self._display.__exit__()
