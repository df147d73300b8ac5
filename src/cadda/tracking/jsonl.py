"""Events as lines of JSON in a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from cadda.training.events import TrainingEvent

__all__ = ["JsonlSink"]


class JsonlSink:
    """Append every event to a file, a line each, at once.

    Parameters
    ----------
    path : Path
        File to append to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, event: TrainingEvent) -> None:
        """Write one event.

        Parameters
        ----------
        event : event
            What happened.
        """
        line = json.dumps({"event": type(event).__name__, **asdict(event)})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
