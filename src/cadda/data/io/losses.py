"""Warnings of windows that are not used, and of subjects that lose all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cadda._internal.user_warnings import warn_user
from cadda.data.quality import (
    Quality,
    WindowQuality,
    describe_bad_channels,
    first_of,
    raise_if_bad,
)
from cadda.exceptions import LostDataWarning

__all__ = ["Part", "most_lost", "parts_of", "warn_of_loss", "warn_of_losses"]


class Part(NamedTuple):
    """A recording and the quality of its windows."""

    subject: str
    recording: str
    quality: Quality


def parts_of(
    assessed: WindowQuality, subjects: NDArray[np.str_], recordings: NDArray[np.str_]
) -> list[Part]:
    """Return the quality of each recording of windows in memory, in their order."""
    groups = np.stack([subjects, recordings], axis=1)
    names, first, index = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    index = index.reshape(-1)
    return [
        Part(str(names[i, 0]), str(names[i, 1]), assessed[index == i].summary())
        for i in np.argsort(first)
    ]


def warn_of_losses(
    parts: Sequence[Part], ch_names: Sequence[str], raise_bad_of: str | None = None
) -> None:
    """Name recordings with bad or rejected windows, and subjects without any other.

    Raise for bad windows if the name of the source is given.
    """
    overall = Quality.of_all([part.quality for part in parts])
    bad = _most([(part, part.quality.n_bad) for part in parts], parts)
    if raise_bad_of is not None:
        raise_if_bad(overall, raise_bad_of, ch_names, bad)
    if overall.n_bad:
        warn_of_loss(
            f"{overall.n_bad} of {overall.n_windows} windows have NaN or a flat channel and are "
            f"not used: {bad}; channels are {describe_bad_channels(overall, ch_names)}."
        )
    if overall.n_rejected:
        warn_of_loss(
            f"{overall.n_rejected} of {overall.n_windows} windows exceed `reject` and are "
            f"dropped: {_most([(part, part.quality.n_rejected) for part in parts], parts)}."
        )
    n_good: Counter[str] = Counter()
    for part in parts:
        n_good[part.subject] += part.quality.n_good
    lost = [subject for subject, count in n_good.items() if not count]
    if lost:
        warn_of_loss(
            f"{len(lost)} of {len(n_good)} subjects have no window left: {first_of(lost)}; choose "
            f"other channels with `channels`{', or a higher `reject`' * bool(overall.n_rejected)}."
        )


def warn_of_loss(text: str) -> None:
    """Warn of windows, recordings or subjects that are not used."""
    warn_user(text, LostDataWarning)


def most_lost(counted: Sequence[tuple[str, str, int]]) -> str:
    """Return names with descriptions of their counts, such as ``"a (2 of 40)"``, by count."""
    ranked = sorted(counted, key=lambda item: -item[2])
    return first_of([f"{name} ({description})" for name, description, count in ranked if count])


def _most(counted: Sequence[tuple[Part, int]], parts: Sequence[Part]) -> str:
    """Return recordings and how many of their windows count, those with the most first."""
    names = Counter(part.recording for part in parts)
    return most_lost(
        [
            (
                _name(part, is_only=names[part.recording] == 1),
                f"{count} of {part.quality.n_windows}",
                count,
            )
            for part, count in counted
        ]
    )


def _name(part: Part, *, is_only: bool) -> str:
    """Return the name of a recording, with its subject if others have the same name."""
    return part.recording if is_only else f"{part.subject}/{part.recording}"
