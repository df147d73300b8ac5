"""Projectors (SSP) that recordings store, and that MNE applies to epochs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import quote
from cadda.data.quality import first_of

__all__ = ["Projection", "pending_projectors", "projection_of", "projector_notes"]


@dataclass(frozen=True, eq=False)
class Projection:
    """Projectors as a matrix, and the channels to read for them."""

    n_picks: int
    channels: tuple[str, ...]  # the picks, and others that the projectors need
    matrix: NDArray[np.float64] | None  # shape (n_picks, n_channels); None if there is none

    def apply(self, signal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the projected picks of signals of shape (..., n_channels, n_times)."""
        if self.matrix is None:
            return signal[..., : self.n_picks, :]
        return self.matrix @ signal

    def spread(self, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return where the projected picks depend on missing samples, (n_picks, n_times)."""
        if self.matrix is None:
            return missing[: self.n_picks]
        return np.asarray((self.matrix != 0) @ missing)


def pending_projectors(info: Any) -> tuple[str, ...]:
    """Return the names of the projectors that have not been applied to the signals."""
    return tuple(str(projector["desc"]) for projector in info["projs"] if not projector["active"])


def projection_of(info: Any, picks: Sequence[str]) -> Projection:
    """Return what `apply_proj` of MNE does to some channels; bad channels have no part in it."""
    if not pending_projectors(info):
        return Projection(len(picks), tuple(picks), None)
    import mne

    names = list(info["ch_names"])
    # The matrix is symmetric, so that projected unit vectors are its rows.
    units = np.eye(len(names))[:, [names.index(name) for name in picks]]
    with warnings.catch_warnings():
        # About projectors that lack a channel, which MNE scales to those that there are.
        warnings.simplefilter("ignore")
        raw = mne.io.RawArray(units, info, verbose="error")
        rows = raw.apply_proj(verbose="error").get_data(verbose="error").T
    needed = (names[i] for i in np.flatnonzero(rows.any(axis=0)))
    channels = tuple(dict.fromkeys((*picks, *needed)))
    return Projection(len(picks), channels, rows[:, [names.index(name) for name in channels]])


def projector_notes(pending: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a note on the projectors of recordings or epochs that are applied."""
    n_with = sum(map(bool, pending))
    if not n_with:
        return ()
    names = dict.fromkeys(name for own in pending for name in own)
    whose = "" if n_with == len(pending) == 1 else f" of {n_with} of {len(pending)} recordings"
    return (
        f"projectors{whose} are applied, as MNE does to epochs: "
        f"{first_of([quote(name) for name in names])}; to keep signals as they were recorded, "
        "remove them in MNE (`del_proj`)",
    )
