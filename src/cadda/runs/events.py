"""The events of a run: their file, and the curves of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from cadda._internal.jsonlines import JsonLines, JsonObject
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.probing.probe import ProbeProgress
from cadda.reporting.records import RewardCurves, SearchCurves
from cadda.runs.folder import HOW_TO_RESUME
from cadda.searchers.events import (
    HISTORY_EVENTS,
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchEvent,
    TrialEnd,
)
from cadda.training.progress import EpochEnd, TrainingEnd, TrainingEvent

__all__ = ["EventLog", "RunEvent", "check_finished", "search_curves"]

RunEvent: TypeAlias = ProbeProgress | SearchEvent | TrainingEvent

READERS: dict[str, TypeAdapter[RunEvent]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (*HISTORY_EVENTS.values(), SearchEnd, EpochEnd, TrainingEnd)
}


TABLES = ("applied", "share", "probability", "magnitude")
"""Fields with a number per class and operation."""

MAX_TABLES = 500
"""Steps of which the tables are read, about; a chart has fewer points."""


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
        """Return all events, without a last one that is incomplete.

        Long searches have tables of the policy for some of their steps only, evenly spread, the
        first and the last among them; those of the others are empty.
        """
        events: list[RunEvent] = []
        kept: list[int] = []  # places of steps with tables
        n_steps, stride = 0, 1
        last: tuple[int, JsonObject, int] | None = None
        for number, line in enumerate(self._lines, start=1):
            if TABLES[0] in line:
                last = None
                if n_steps % stride:
                    last = len(events), dict(line), number
                    line.update({name: [] for name in TABLES})
                else:
                    kept.append(len(events))
                n_steps += 1
            events.append(self._parse(line, number))
            if len(kept) > 2 * MAX_TABLES:
                for place in kept[1::2]:
                    events[place] = _without_tables(events[place])
                kept, stride = kept[::2], 2 * stride
        if last is not None:
            place, line, number = last
            events[place] = self._parse(line, number)
        return events

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


def _without_tables(event: RunEvent) -> RunEvent:
    if isinstance(event, SearchEpoch | TrialEnd):
        return replace(event, applied=(), share=(), probability=(), magnitude=())
    return event


def _to_json(event: RunEvent) -> dict[str, object]:
    return {"event": type(event).__name__, **asdict(event)}


def check_finished(events: Sequence[RunEvent]) -> None:
    """Raise a ValueError if these are not all events of a finished run."""
    if not events or not isinstance(events[-1], SearchEnd | TrainingEnd):
        end = f"ends with {type(events[-1]).__name__}" if events else "has no events"
        raise ValueError(f"it {end}, but the run is finished; {HOW_TO_RESUME} to mend it")
    epochs = [event.epoch for event in events if isinstance(event, EpochEnd | SearchEpoch)]
    if epochs and epochs != list(range(1, events[-1].epoch + 1)):
        raise ValueError(
            f"it has {len(epochs)} of {events[-1].epoch} epochs; {HOW_TO_RESUME} to mend it"
        )


def search_curves(events: Sequence[RunEvent]) -> SearchCurves | None:
    """Return the curves of a search; None if it has done no epoch and no trial."""
    epochs = [event for event in events if isinstance(event, SearchEpoch)]
    trials = [event for event in events if isinstance(event, TrialEnd)]
    steps: Sequence[SearchEpoch | TrialEnd] = epochs or trials
    if not steps:
        return None
    shown = [place for place, event in enumerate(steps) if event.applied]
    tables = {
        name: np.array([getattr(steps[place], name) for place in shown], dtype=float)
        for name in TABLES
    }
    numbers = [event.epoch for event in epochs] or [event.number for event in trials]
    retrained = [event for event in events if isinstance(event, Retrained) and event.epoch]
    best = min(retrained, key=lambda event: event.valid_loss, default=None)
    # The epoch of the policy that was kept, and the last one of a search without retraining.
    kept = [event for event in epochs if best is None or event.epoch == best.epoch][-1:]
    losses: list[float | None] = [event.valid_loss for event in epochs]
    losses = losses or [event.value for event in trials]
    return SearchCurves(
        unit="epoch" if epochs else "trial",
        number=np.array(numbers, dtype=float),
        # The value of a trial that failed is None, which becomes NaN.
        valid_loss=np.array(losses, dtype=float),
        entropy=np.array([event.entropy for event in epochs]) if epochs else None,
        shown=np.array(shown),
        **tables,
        retrained=tuple((event.epoch, event.valid_loss) for event in retrained),
        shared=np.array([event.shared for event in epochs], dtype=float) if epochs else None,
        policy_epoch=kept[0].epoch if kept else 0,
        agreement=kept[0].agreement if kept else None,
        n_averaged=kept[0].n_averaged if kept else 0,
        rewards=_reward_curves(epochs),
        # Rewards are computed once the warm-up is over.
        left_warmup=not epochs or any(event.reward is not None for event in epochs),
    )


def _reward_curves(epochs: Sequence[SearchEpoch]) -> RewardCurves | None:
    """Return the rewards by class, NaN for epochs without any; None if no epoch has them."""
    known = [event.rewards for event in epochs if event.rewards is not None]
    if not known:
        return None
    unknown = (np.nan,) * len(known[0].unchanged)

    def table(name: str) -> NDArray[np.float64]:
        return np.array(
            [unknown if e.rewards is None else getattr(e.rewards, name) for e in epochs]
        )

    return RewardCurves(*map(table, ("unchanged", "policy", "control", "residual_ratio")))
