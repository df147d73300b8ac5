"""Events as lines of JSON in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from cadda._internal.files import write_text_atomically
from cadda.searchers.events import SearchEvent
from cadda.training.events import TrainingEvent

__all__ = ["JsonlSink", "both"]

Event = TypeVar("Event")


class JsonlSink:
    """Append every event to a file, a line each, at once.

    Parameters
    ----------
    path : Path
        File to append to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, event: TrainingEvent | SearchEvent) -> None:
        """Write one event.

        Parameters
        ----------
        event : event
            What happened.
        """
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(event))

    def rewrite(self, events: Iterable[TrainingEvent | SearchEvent]) -> None:
        """Start the file anew: a killed run may have written more than it had saved.

        Parameters
        ----------
        events : iterable of event
            What happened so far.
        """
        write_text_atomically(self.path, "".join(map(_line, events)))


def both(
    first: Callable[[Event], None], second: Callable[[Event], None]
) -> Callable[[Event], None]:
    """Send events to two receivers.

    Parameters
    ----------
    first : callable
        Gets every event first.
    second : callable
        Gets it then.

    Returns
    -------
    callable
        Receiver of events.
    """

    def report(event: Event) -> None:
        first(event)
        second(event)

    return report


def _line(event: TrainingEvent | SearchEvent) -> str:
    return json.dumps({"event": type(event).__name__, **asdict(event)}) + "\n"
