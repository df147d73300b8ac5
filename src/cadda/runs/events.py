"""The file of events of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from cadda._internal.jsonlines import JsonLines, JsonObject
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, SearchEvent, TrialEnd
from cadda.training.events import EpochEnd, TrainingEnd, TrainingEvent

__all__ = ["EventLog", "RunEvent"]

RunEvent: TypeAlias = SearchEvent | TrainingEvent

READERS: dict[str, TypeAdapter[RunEvent]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (SearchEpoch, TrialEnd, Retrained, SearchEnd, EpochEnd, TrainingEnd)
}


class EventLog:
    """Writes events to a file as they happen, one line each, and reads them back."""

    def __init__(self, path: Path) -> None:
        # The magnitude of an operation that is never applied is NaN.
        self._lines = JsonLines(path, allow_nan=True)

    def __call__(self, event: RunEvent) -> None:
        """Append an event."""
        self._lines.append(_to_json(event))

    def rewrite(self, events: Iterable[RunEvent]) -> None:
        """Replace all events: a killed run may have written more, or less, than it had saved."""
        self._lines.rewrite(map(_to_json, events))

    def read(self) -> list[RunEvent]:
        """Return all events, without a last one that is incomplete."""
        return [
            self._parse(line, number) for number, line in enumerate(self._lines.read(), start=1)
        ]

    def _parse(self, line: JsonObject, number: int) -> RunEvent:
        name = line.pop("event", None)
        if not isinstance(name, str) or name not in READERS:
            raise RunError(f"{self._lines.path}, line {number}: unknown event {name!r}.")
        try:
            return READERS[name].validate_python(line)
        except ValidationError as error:
            raise RunError(
                f"{self._lines.path}, line {number}, is not a valid {name}: {short_reason(error)}."
            ) from error


def _to_json(event: RunEvent) -> dict[str, object]:
    return {"event": type(event).__name__, **asdict(event)}
