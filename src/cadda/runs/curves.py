"""The curves of a search, from its events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cadda.reporting.records import SearchCurves
from cadda.runs.events import RunEvent
from cadda.searchers.events import Retrained, SearchEpoch, TrialEnd

__all__ = ["search_curves"]


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
    losses: list[float | None] = [event.valid_loss for event in epochs]
    losses = losses or [event.value for event in trials]
    return SearchCurves(
        unit="epoch" if epochs else "trial",
        number=np.array(numbers, dtype=float),
        # The value of a trial that failed is None, which becomes NaN.
        valid_loss=np.array(losses, dtype=float),
        entropy=np.array([event.entropy for event in epochs]) if epochs else None,
        **tables,
        retrained=tuple(
            (event.epoch, event.valid_loss)
            for event in events
            if isinstance(event, Retrained) and event.epoch
        ),
        # Rewards are computed once the warm-up is over.
        left_warmup=not epochs or any(event.reward is not None for event in epochs),
    )
