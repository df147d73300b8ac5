"""Annotations and events without a window: outside their recording, or without an onset."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from cadda.data.io.losses import most_lost, warn_of_loss
from cadda.data.io.naming import Inspected

__all__ = [
    "collected_warnings",
    "count_omitted",
    "warn_of_events_without_onset",
    "warn_of_outside",
]

_OMITTED = re.compile(r"Omitted (\d+) annotation")
"""What MNE warns of when it drops annotations outside a recording."""


@contextmanager
def collected_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, as those of MNE with ``verbose="warning"``, and log none of them."""
    mne_logger = logging.getLogger("mne")

    def drop(_: logging.LogRecord) -> bool:
        return False

    mne_logger.addFilter(drop)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        mne_logger.removeFilter(drop)


def count_omitted(caught: Iterable[warnings.WarningMessage]) -> int:
    """Return how many annotations MNE has dropped, by its warnings."""
    found = (_OMITTED.match(str(warning.message)) for warning in caught)
    return sum(int(match[1]) for match in found if match)


def warn_of_outside(
    inspected: Sequence[Inspected],
    counts: Sequence[tuple[int, int]],
    where: str,
    *,
    has_baseline: bool,
) -> None:
    """Warn of windows that are not within their recordings, and of annotations that are not.

    Counts are the numbers of windows outside each recording and of all its windows. MNE drops
    annotations outside the recording when it reads a file, so that their text is not known.
    """
    names = [header.name for header, _ in inspected]
    pairs = list(zip(names, counts, strict=True))
    n_outside, n_windows = (sum(numbers) for numbers in zip(*counts, strict=True))
    if n_outside:
        lost = most_lost([(name, f"{n} of {total}", n) for name, (n, total) in pairs])
        warn_of_loss(
            f"{where}: {n_outside} of {n_windows} windows{', with their baseline,' * has_baseline}"
            f" begin before their recording or end after it and are dropped: {lost}."
        )
    omitted = [header.n_outside for header, _ in inspected]
    if sum(omitted):
        lost = most_lost([(name, str(n), n) for name, n in zip(names, omitted, strict=True)])
        warn_of_loss(
            f"{where}: {sum(omitted)} annotations or events are outside their recordings and are "
            f"not used: {lost}; check that they belong to them, with onsets in seconds."
        )


def warn_of_events_without_onset(inspected: Sequence[Inspected], where: str) -> None:
    """Warn of events of BIDS data sets whose onset is not known."""
    missing = [(header.name, header.n_without_onset) for header, _ in inspected]
    total = sum(n for _, n in missing)
    if total:
        lost = most_lost([(name, str(n), n) for name, n in missing])
        warn_of_loss(f"{where}: {total} events have no onset (n/a) and are not used: {lost}.")
