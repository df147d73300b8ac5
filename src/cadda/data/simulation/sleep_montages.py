"""The montages of simulated sleep: electrodes and derivations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean

__all__ = ["ELECTRODES", "SLEEP_MONTAGES", "SleepMontage", "sleep_montage"]


@dataclass(frozen=True)
class SleepMontage:
    """The channels of a sleep recording."""

    name: str
    sfreq: float
    derivations: tuple[tuple[str, tuple[str, ...]], ...]  # an electrode, and its references
    ch_names: tuple[str, ...]

    @property
    def electrodes(self) -> tuple[str, ...]:
        """The electrodes that any derivation uses, in the order of `ELECTRODES`."""
        used = {name for plus, minus in self.derivations for name in (plus, *minus)}
        return tuple(name for name in ELECTRODES if name in used)

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Channels from electrodes, shape (n_channels, n_electrodes); each row sums to 0."""
        column = {name: i for i, name in enumerate(self.electrodes)}
        matrix = np.zeros((len(self.derivations), len(column)), dtype=np.float32)
        for row, (plus, minus) in zip(matrix, self.derivations, strict=True):
            row[column[plus]] += 1
            for name in minus:
                row[column[name]] -= 1 / len(minus)
        return matrix


ELECTRODES = ("Fpz", "Cz", "Pz", "Oz", "C3", "C4", "F3", "F4", "O1", "O2", "A1", "A2")

_LINKED_EARS = ("A1", "A2")
_MASS_CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")

SLEEP_MONTAGES = {
    "physionet": SleepMontage(
        "physionet", 100.0, (("Fpz", ("Cz",)), ("Pz", ("Oz",))), ("Fpz-Cz", "Pz-Oz")
    ),
    "mass": SleepMontage(
        "mass", 128.0, tuple((name, _LINKED_EARS) for name in _MASS_CHANNELS), _MASS_CHANNELS
    ),
}


def sleep_montage(name: str) -> SleepMontage:
    """Return a montage by name."""
    if name not in SLEEP_MONTAGES:
        choices = " or ".join(repr(known) for known in SLEEP_MONTAGES)
        hint = did_you_mean(str(name), SLEEP_MONTAGES)
        raise ValueError(f"`montage` must be {choices}, got {name!r}{hint}.")
    return SLEEP_MONTAGES[name]
