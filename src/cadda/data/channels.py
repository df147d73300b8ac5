"""Channels by names as people write them: finding them, and comparing them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from cadda.data.checks import check_names
from cadda.data.montage import electrodes
from cadda.exceptions import DataError

__all__ = ["find_channels", "same_channels"]

Rule: TypeAlias = Callable[[str, str], bool]

_REFERENCES = {"A1", "A2", "M1", "M2"}
"""Electrodes beside the ears: C3-A2 is what people mean by C3."""


def find_channels(wanted: Sequence[str], available: Sequence[str], where: str) -> tuple[str, ...]:
    """Find channels by names as people write them."""
    found = [_find_channel(name, available, where) for name in check_names("channels", wanted)]
    for name, channel in zip(wanted, found, strict=True):
        if found.count(channel) > 1:
            raise ValueError(
                f"`channels` must be different from each other, but {name!r} is "
                f"{channel!r} of {where}, as another one is."
            )
    return tuple(found)


def same_channels(first: Sequence[str], second: Sequence[str]) -> bool:
    """Say whether two lists name the same channels in the same order, as people write them."""
    return len(first) == len(second) and all(
        any(rule(one, other) or rule(other, one) for rule in _RULES)
        for one, other in zip(first, second, strict=True)
    )


def _find_channel(name: str, available: Sequence[str], where: str) -> str:
    for rule in _RULES:
        matches = [other for other in available if rule(name, other)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DataError(
                f"`channels` must say which channel {name!r} is: {where} has "
                f"{', '.join(map(repr, matches))}."
            )
    spelling = {_plain(other): other for other in available}
    near = [spelling[one] for one in difflib.get_close_matches(_plain(name), spelling, cutoff=0.5)]
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"it has {', '.join(map(repr, available[:20])) or 'none'}."
    raise DataError(f"`channels` must be in the recording, but {where} has no {name!r}; {hint}")


def _is_identical(name: str, other: str) -> bool:
    return name == other


def _is_spelt_alike(name: str, other: str) -> bool:
    return _plain(name) == _plain(other)


def _has_the_same_electrodes(name: str, other: str) -> bool:
    return bool(electrodes(name)) and electrodes(name) == electrodes(other)


def _leaves_out_the_reference(name: str, other: str) -> bool:
    parts, others = electrodes(name), electrodes(other)
    return len(parts) == 1 and others[:1] == parts and set(others[1:]) <= _REFERENCES


_RULES: tuple[Rule, ...] = (
    _is_identical,
    _is_spelt_alike,
    _has_the_same_electrodes,
    _leaves_out_the_reference,
)
"""When a name means a channel, from the strictest rule on: the first that finds one decides."""


def _plain(name: str) -> str:
    """Give a name without what differs between recorders: case, dots and the word EEG."""
    return name.casefold().removeprefix("eeg").strip(" .:_-")
