"""Channel names as people write them: matching them to recordings, and to each other."""

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
"""References at the ears: ``C3`` usually means ``C3-A2``."""


def find_channels(wanted: Sequence[str], available: Sequence[str], where: str) -> tuple[str, ...]:
    """Match names such as ``C3`` to channels of a recording such as ``EEG C3-CLE``.

    Return the names in the recording, in the order wanted; `where` names it in messages.
    """
    matches = [_find_channel(name, available, where) for name in check_names("channels", wanted)]
    for name, channel in zip(wanted, matches, strict=True):
        if matches.count(channel) > 1:
            raise ValueError(
                f"`channels` must be different from each other, but {name!r} and another name "
                f"are both {channel!r} of {where}."
            )
    return tuple(matches)


def same_channels(first: Sequence[str], second: Sequence[str]) -> bool:
    """Check whether two lists name the same channels in the same order.

    Examples
    --------
    >>> same_channels(["Fpz-Cz", "C3"], ["EEG FPZ-CZ", "EEG C3-CLE"])
    True
    >>> same_channels(["C3", "C4"], ["C4", "C3"])
    False
    """
    return len(first) == len(second) and all(
        any(rule(name, other) or rule(other, name) for rule in _RULES)
        for name, other in zip(first, second, strict=True)
    )


def _find_channel(name: str, available: Sequence[str], where: str) -> str:
    for rule in _RULES:
        matches = [other for other in available if rule(name, other)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DataError(
                f"`channels` is ambiguous: {name!r} may be one of several channels of {where}, "
                f"{', '.join(map(repr, matches))}."
            )
    spelling = {_plain(other): other for other in available}
    near = [spelling[n] for n in difflib.get_close_matches(_plain(name), spelling, cutoff=0.5)]
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
"""When a name matches a channel, from strict to lenient; the first rule with a match decides."""


def _plain(name: str) -> str:
    """Strip what differs between recorders: case, dots and the word EEG."""
    return name.casefold().removeprefix("eeg").strip(" .:_-")
