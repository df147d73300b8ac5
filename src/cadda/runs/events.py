"""The events of a run: their file, and the curves of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
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
from cadda.searchers.events import (
    HISTORY_EVENTS,
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchEvent,
    TrialEnd,
)
from cadda.training.progress import EpochEnd, TrainingEnd, TrainingEvent

__all__ = ["EventLog", "RunEvent", "search_curves"]

RunEvent: TypeAlias = ProbeProgress | SearchEvent | TrainingEvent

READERS: dict[str, TypeAdapter[RunEvent]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (*HISTORY_EVENTS.values(), SearchEnd, EpochEnd, TrainingEnd)
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


def search_curves(events: Sequence[RunEvent]) -> SearchCurves | None:
    """Return the curves of a search; None if it has done no epoch and no trial."""
    epochs = [event for event in events if isinstance(event, SearchEpoch)]
    trials = [event for event in events if isinstance(event, TrialEnd)]
    steps = epochs or trials
    if not steps:
        return None
    tables = {
        name: np.array([getattr(event, name) for event in steps], dtype=float)
        for name in ("applied", "share", "probability", "magnitude")
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
