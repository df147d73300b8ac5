"""Channels: names as people write them, sensor positions, and left-right pairs."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import MAX_NAME, list_names, quote
from cadda.data.checks import check_names, check_positions
from cadda.exceptions import DataError

__all__ = [
    "Montage",
    "electrodes",
    "electrodes_of",
    "find_channels",
    "has_channel",
    "measured_positions",
    "resolve_montage",
    "same_channels",
]

Rule: TypeAlias = Callable[[str, str], bool]

_REFERENCES = {"A1", "A2", "M1", "M2"}
"""References at the ears: ``C3`` usually means ``C3-A2``."""

_BIOSEMI = re.compile(r"[A-H](?:[1-9]|[12]\d|3[0-2])")
"""Names of BioSemi's caps, by plug and pin; A1, A2 and C1 to C6 are 10-20 names as well."""

_ONLY_BIOSEMI = re.compile(r"A(?!1$|2$)\d+|B\d+")
"""Those that no 10-20 system has, in every cap."""

MIN_LETTERS = 3
"""Letters from which names may differ in them and still be similar."""

_HEAD_ORIGIN = (0.0, 0.0, 0.04)
"""Usual centre of the head in MNE's head frame, in metres."""

_MIRROR_TOLERANCE = 0.15
"""How far, in head radii, a sensor may be from the mirror image of its partner."""


def find_channels(
    wanted: Sequence[str], available: Sequence[str], where: str, *, given_as: str = "`channels`"
) -> tuple[str, ...]:
    """Match names such as ``C3`` to channels of a recording such as ``EEG C3-CLE``.

    Return the names in the recording, in the order wanted. Messages name the recording `where`
    and what was `given_as`: the argument, or the key of a file.
    """
    wanted = check_names("channels", wanted)
    for name in wanted:
        if name[0] in "!^~-" and name not in available:
            raise ValueError(
                f"{given_as} lists the channels to use, got {name!r}; channels are left out by "
                "listing the others, or by marking them as bad in MNE."
            )
    matches = [_find_channel(name, available, where, given_as) for name in wanted]
    for name, channel in zip(wanted, matches, strict=True):
        if matches.count(channel) > 1:
            raise ValueError(
                f"{given_as} must be different from each other, but {name!r} and another name "
                f"are both {channel!r} of {where}."
            )
    return tuple(matches)


def has_channel(name: str, available: Sequence[str]) -> bool:
    """Check whether `find_channels` finds a name, such as ``C3`` as ``EEG C3-CLE``.

    Examples
    --------
    >>> has_channel("C3", ["EEG C3-CLE", "EEG C4-CLE"]), has_channel("Cz", ["C3", "C4"])
    (True, False)
    """
    return any(rule(name, other) for rule in _RULES for other in available)


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


def _find_channel(name: str, available: Sequence[str], where: str, given_as: str) -> str:
    for rule in _RULES:
        matches = [other for other in available if rule(name, other)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DataError(
                f"{given_as} is ambiguous: {name!r} may be one of several channels of {where}, "
                f"{', '.join(map(repr, matches))}."
            )
    plain = _plain(name[:MAX_NAME])  # comparing takes the square of the length
    plains = {_plain(other): other for other in available}
    spelling = {own: other for own, other in plains.items() if _has_similar_letters(plain, own)}
    near = [spelling[n] for n in difflib.get_close_matches(plain, spelling, cutoff=0.5)]
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"it has {list_names(available) or 'none'}."
    raise DataError(
        f"{given_as} must be in the recording, but {where} has no {quote(name)}; {hint}"
    )


def _has_similar_letters(plain: str, other: str) -> bool:
    """Check that short names begin with the same letters: M1 is not meant by O1."""
    own, others = (re.split("[^a-z]", text, maxsplit=1)[0] for text in (plain, other))
    return own == others or min(len(own), len(others)) >= MIN_LETTERS


def _is_spelt_alike(name: str, other: str) -> bool:
    return _plain(name) == _plain(other)


def _has_the_same_electrodes(name: str, other: str) -> bool:
    return bool(electrodes(name)) and electrodes(name) == electrodes(other)


def _leaves_out_the_reference(name: str, other: str) -> bool:
    parts, others = electrodes(name), electrodes(other)
    return len(parts) == 1 and others[:1] == parts and set(others[1:]) <= _REFERENCES


_RULES: tuple[Rule, ...] = (
    operator.eq,
    _is_spelt_alike,
    _has_the_same_electrodes,
    _leaves_out_the_reference,
)
"""When a name matches a channel, from strict to lenient; the first rule with a match decides."""


def _plain(name: str) -> str:
    """Strip what differs between recorders: case, dots and the word EEG."""
    return name.casefold().removeprefix("eeg").strip(" .:_-")


@dataclass(frozen=True, eq=False)
class Montage:
    """Sensors of a recording."""

    positions: NDArray[np.float64]
    """Shape (n_channels, 3), in metres around the centre of the head: right, front, up; or NaN."""
    partner: tuple[int, ...]
    """Index of the channel on the other side of the head, or of the channel itself."""
    is_midline: tuple[bool, ...]
    """Whether a channel is between the sides, and needs no partner."""

    @property
    def n_pairs(self) -> int:
        """Number of left-right pairs."""
        return sum(other > i for i, other in enumerate(self.partner))

    @property
    def unpaired(self) -> tuple[int, ...]:
        """Channels without a partner that are not on the midline."""
        known = zip(self.partner, self.is_midline, strict=True)
        return tuple(i for i, (other, middle) in enumerate(known) if other == i and not middle)

    @property
    def unlocated(self) -> tuple[int, ...]:
        """Channels without a known position."""
        return tuple(np.flatnonzero(~np.isfinite(self.positions).all(axis=1)).tolist())


def resolve_montage(
    ch_names: Sequence[str], measured: NDArray[np.float64] | None = None
) -> Montage:
    """Locate the sensors of a recording and pair the left with the right.

    Names may be written as ``C3``, ``EEG c3-REF``, ``Fpz-Cz``, ``Fc5.`` or ``C3A2``; a bipolar
    derivation is at its first electrode. Measured positions are in MNE's head frame, NaN where
    unknown; if all are, the standard 10-20 montage provides positions by name.
    """
    names = electrodes_of(ch_names)
    positions = np.full((len(names), 3), np.nan)
    has_own: NDArray[np.bool_] = np.zeros(len(names), dtype=bool)
    if measured is not None:
        measured = check_positions(measured, len(names))
        has_own = np.asarray(np.isfinite(measured).all(axis=1))
        positions[has_own] = _centred(measured[has_own])
    # Two frames are never mixed: the template is used only without any measured position.
    if not has_own.any():
        template = _template()
        for i, parts in enumerate(names):
            if parts:
                positions[i] = template[parts[0]]
    is_midline = tuple(
        _mirrored(parts) == parts if parts else _is_central(position)
        for parts, position in zip(names, positions, strict=True)
    )
    return Montage(positions, _partners(names, positions), is_midline)


def electrodes(ch_name: str) -> tuple[str, ...]:
    """Return the electrodes that a channel name contains, in standard spelling.

    One electrode, two for a derivation such as ``Fpz-Cz``, or none if the first is not in the
    10-20, 10-10 or 10-5 system.
    """
    if len(ch_name) > MAX_NAME:
        return ()
    spelling = _spelling()
    bare = re.sub(r"^\s*EEG[\s:_-]*", "", ch_name, flags=re.IGNORECASE).strip(" .").upper()
    if bare in spelling:
        return (spelling[bare],)
    parts = [part for part in re.split(r"[^A-Z0-9]+", bare) if part]
    if len(parts) == 1:
        parts = _split_joined(parts[0])
    if not parts or parts[0] not in spelling:
        return ()
    return tuple(spelling[part] for part in parts[:2] if part in spelling)


def electrodes_of(ch_names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the electrodes of all channels; none for those of a BioSemi cap, such as ``C3``.

    Examples
    --------
    >>> electrodes_of(["C3", "A2"]), electrodes_of(["C3", "A2", "B7"])
    ([('C3',), ('A2',)], [(), (), ()])
    """
    is_pin = [_BIOSEMI.fullmatch(name.strip()) is not None for name in ch_names]
    pins = [name.strip() for name, is_own in zip(ch_names, is_pin, strict=True) if is_own]
    is_cap = any(map(_ONLY_BIOSEMI.fullmatch, pins))
    return [
        () if is_cap and is_own else electrodes(name)
        for name, is_own in zip(ch_names, is_pin, strict=True)
    ]


def measured_positions(info: Any) -> NDArray[np.float64] | None:
    """Return the positions in an `mne.Info`, NaN where unknown; None if there are none at all."""
    positions = np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)
    # Readers write zeros or NaN for missing positions.
    unknown = ~np.isfinite(positions).all(axis=1) | (np.abs(positions).max(axis=1) < 1e-6)
    positions[unknown] = np.nan
    return None if unknown.all() else positions


@cache
def _template() -> dict[str, NDArray[np.float64]]:
    """Return the positions of the standard montage around the centre of its sphere."""
    import mne

    available = mne.channels.get_builtin_montages()
    # MNE 1.13 renamed the montage, 1.14 drops the old name.
    name = "colin27_1005" if "colin27_1005" in available else "standard_1005"
    positions = mne.channels.make_standard_montage(name).get_positions()["ch_pos"]
    centred = _centred(np.stack(list(positions.values())))
    return dict(zip(positions, centred, strict=True))


@cache
def _spelling() -> dict[str, str]:
    return {name.upper(): name for name in _template()}


def _split_joined(name: str) -> list[str]:
    """Split ``C3A2`` into two electrodes, where both are known."""
    spelling = _spelling()
    for cut in range(len(name) - 1, 0, -1):
        if name[:cut] in spelling and name[cut:] in spelling:
            return [name[:cut], name[cut:]]
    return [name]


def _centred(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move the origin to the centre of the sphere that fits best.

    Few sensors, or sensors on one side, do not determine a sphere; then the usual centre of the
    head is used.
    """
    design = np.column_stack([2 * positions, np.ones(len(positions))])
    solution, _, rank, _ = np.linalg.lstsq(design, (positions**2).sum(axis=1), rcond=1e-3)
    centre = solution[:3]
    radius = np.sqrt(max(solution[3] + centre @ centre, 0.0))
    plausible = rank == 4 and len(positions) >= 10 and 0.06 < radius < 0.14
    return np.asarray(positions - (centre if plausible else _HEAD_ORIGIN))


def _partners(names: Sequence[tuple[str, ...]], positions: NDArray[np.float64]) -> tuple[int, ...]:
    """Pair channels by name, and those with unknown names by position."""
    by_name = {parts: i for i, parts in enumerate(names) if parts}
    candidates = [
        by_name.get(_mirrored(parts), by_name.get((_mirrored(parts[:1]) + parts[1:]), i))
        if parts
        else _mirrored_position(i, positions)
        for i, parts in enumerate(names)
    ]
    return tuple(other if candidates[other] == i else i for i, other in enumerate(candidates))


def _mirrored(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Mirror electrodes: odd numbers are left, even numbers right, and z is the midline."""

    def mirror(name: str) -> str:
        match = re.fullmatch(r"([A-Za-z]+)(\d+)(h?)", name)
        if match is None:
            return name
        letters, number, half = match[1], int(match[2]), match[3]
        return f"{letters}{number + 1 if number % 2 else number - 1}{half}"

    return tuple(mirror(name) for name in parts)


def _is_central(position: NDArray[np.float64]) -> bool:
    """Check whether a sensor is its own mirror image, as far as pairs have to be."""
    return bool(2 * abs(position[0]) < _MIRROR_TOLERANCE * np.linalg.norm(position))


def _mirrored_position(index: int, positions: NDArray[np.float64]) -> int:
    """Find the sensor nearest to the mirror image of a sensor, if one is near enough."""
    image = positions[index] * (-1, 1, 1)
    distance = np.linalg.norm(positions - image, axis=1)
    if not np.isfinite(image).all():
        return index
    nearest = int(np.nanargmin(distance))
    return nearest if distance[nearest] < _MIRROR_TOLERANCE * np.linalg.norm(image) else index
