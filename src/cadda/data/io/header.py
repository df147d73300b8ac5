"""What is known about a recording before its signals are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.limits import MAX_SFREQ, MIN_SFREQ
from cadda._internal.text import list_names, storable
from cadda.data.channels import electrodes, electrodes_of, find_channels, has_channel
from cadda.exceptions import DataError

__all__ = ["Header", "check_rate", "guess_type"]

CHANNEL_TYPES = ("eeg", "eog", "emg", "ecg", "resp", "bio", "misc", "stim", "seeg", "ecog", "mag")
"""Types of MNE by which channels can be selected."""

EGI_REFERENCES = ("VREF", "Vertex Reference")
"""Channels of zeros."""

MASTOIDS = (("M1", "M2"), ("A1", "A2"), ("TP9", "TP10"))
"""Pairs of channels at, or next to, the bones behind the ears, by preference."""

_NOT_EEG = re.compile(
    r"eog|emg|e[ck]g|resp|gsr|eda|temp|s[pa]o2|ppg|pulse|photo|trig|status|aux|chin|leg|acc"
    r"|snor|flow|thor|abd|airway|microphone|position|light",
    re.IGNORECASE,
)
"""Names of channels that are no EEG, although formats without types call them so."""


@dataclass(frozen=True, eq=False)
class Header:
    """A recording without its signals."""

    path: Path  # of the file, absolute for objects of MNE; or the name of one without a file
    labels: tuple[str, ...]
    types: tuple[str, ...]
    sfreqs: tuple[float, ...]
    seconds: float
    start: datetime | None = None
    bads: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()  # that hold the signals beside `path`
    positions: NDArray[np.float64] | None = None  # of the sensors, shape (n_channels, 3)
    raw: Any = None  # the recording itself, if it is in memory
    folders: tuple[str, ...] = ()  # that tell it from recordings with the same file name
    subject: str | None = None  # if it is known without the name of the file
    n_outside: int = 0  # annotations that are dropped, as they are not within the recording
    n_without_onset: int = 0  # events that are dropped
    projectors: tuple[str, ...] = ()  # that are stored and have not been applied

    @property
    def name(self) -> str:
        """Name of the recording, after the folders that it needs to be the only one."""
        return "/".join((*map(storable, self.folders), self.file_name))

    @property
    def has_file(self) -> bool:
        """Whether the recording is in a file, or was read from one."""
        return self.raw is None or self.path.is_absolute()

    @property
    def file_name(self) -> str:
        """Name of the file without what all have."""
        name = storable(self.path.name)
        return name.removesuffix(".gz").rpartition(".")[0].removesuffix("_eeg") or name

    def sfreq_of(self, picks: Sequence[str]) -> float:
        """Return the sampling rate of some channels in Hz; raise if they have several."""
        rates = {name: self.sfreqs[self.labels.index(name)] for name in picks}
        if len(set(rates.values())) > 1:
            raise DataError(
                f"{self.path.name} has channels with different sampling rates, {rates} Hz; choose "
                "`channels` with the same rate."
            )
        return rates[picks[0]]

    def positions_of(self, picks: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the positions of some channels, or None if none is known."""
        if self.positions is None:
            return None
        positions = self.positions[[self.labels.index(name) for name in picks]]
        return positions if np.isfinite(positions).any() else None

    def good(self, kind: str) -> list[str]:
        """Return the channels of a type that are not marked as bad."""
        channels = zip(self.labels, self.types, strict=True)
        return [name for name, own in channels if own == kind and name not in self.bads]

    def eeg(self) -> list[str]:
        """Return the good EEG channels; if at least half have a 10-20 name, only these."""
        good = self._likely_eeg()
        names = zip(good, electrodes_of(good), strict=True)
        named = [name for name, found in names if found]
        return named if 2 * len(named) >= len(good) else good

    def unused_eeg(self) -> list[str]:
        """Return the channels that may be EEG and that `eeg` leaves out."""
        used = self.eeg()
        return [name for name in self._likely_eeg() if name not in used]

    def _likely_eeg(self) -> list[str]:
        # Many formats call every channel EEG.
        return [name for name in self._typed_eeg() if not _NOT_EEG.search(name)]

    def _typed_eeg(self) -> list[str]:
        return [name for name in self.good("eeg") if name not in EGI_REFERENCES]

    def has(self, name: str) -> bool:
        """Check whether there is a channel of this name, in any common spelling."""
        return name in self.labels or has_channel(name, self.labels)

    def expand_types(self, wanted: Sequence[str]) -> list[str]:
        """Replace types such as ``eog`` by the good channels of that type."""
        channels: list[str] = []
        for name in wanted:
            if name not in CHANNEL_TYPES or name in self.labels:
                channels.append(name)
            elif found := self._typed_eeg() if name == "eeg" else self.good(name):
                channels += found
            else:
                raise DataError(
                    f"`channels` must be in the recording, but {self.path.name} has no good "
                    f"channel of type {name!r}; its channels are "
                    f"{list_names(self.labels)}."
                )
        return channels

    def reference_channels(self, reference: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the channels whose mean is the reference."""
        if reference is None:
            return ()
        if reference == "mastoids":
            reference = self._mastoids()
        if reference != "average":
            return find_channels(
                list(reference), self.labels, self.path.name, given_as="`reference`"
            )
        channels = tuple(self.eeg())
        if len(channels) < 2:
            raise DataError(
                f"`reference`='average' needs at least two good EEG channels, but "
                f"{self.path.name} has {list(channels)}."
            )
        return channels

    def _mastoids(self) -> tuple[str, str]:
        """Return the names of the channels at both ears."""
        for pair in MASTOIDS:
            if all(map(self.has, pair)):
                return pair
        pairs = ", ".join(f"{left} and {right}" for left, right in MASTOIDS)
        raise DataError(
            f"`reference`='mastoids' needs one of the pairs {pairs}, but {self.path.name} has "
            f"{list_names(self.labels)}; name the channels of the reference."
        )


def check_rate(sfreq: float, path: Path, channel: str = "") -> float:
    """Raise unless the sampling rate of a recording is one that a recorder may have; return it."""
    if not MIN_SFREQ <= sfreq <= MAX_SFREQ:
        whose = f"its channel {channel!r}" if channel else "it"
        raise DataError(
            f"{path} cannot be read: {whose} has a sampling rate of {sfreq:g} Hz, and rates are "
            f"from {MIN_SFREQ:g} to {MAX_SFREQ:g} Hz; correct the header of the file."
        )
    return sfreq


def guess_type(label: str) -> str:
    """Return the type of a channel by its name, for formats that have none."""
    if electrodes(label):
        return "eeg"
    prefix = label.casefold().split(" ")[0].split("-")[0]
    return prefix if prefix in CHANNEL_TYPES and prefix != "eeg" else "misc"
