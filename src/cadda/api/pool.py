"""Pools of operations for given recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cadda.data.channels import measured_positions, resolve_montage
from cadda.operations.catalogue import Sensors
from cadda.operations.pool import OperationPool, eeg_pool

__all__ = ["operation_pool"]


def operation_pool(
    windows: Any = None,
    *,
    sfreq: float | None = None,
    ch_names: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
    operations: Sequence[str] | None = None,
) -> OperationPool:
    """Make the pool of every EEG operation that is applicable to a montage.

    Parameters
    ----------
    windows : object | None
        Anything with ``sfreq`` and ``ch_names``, and with ``positions`` if it knows them; or an
        MNE object with ``info``, such as Raw or Epochs. None if the following are given.
    sfreq : float | None
        Sampling rate in Hz.
    ch_names : sequence of str | None
        Names of the channels as people write them, such as ``C3``, ``EEG Fpz-Cz`` or ``fc5.``.
    positions : array-like of shape (n_channels, 3) | None
        Sensors in MNE's head frame in metres, NaN where unknown. Without any, positions are those
        of the standard 10-20 montage.
    operations : sequence of str | None
        Names of the operations wanted; None takes all that are applicable.

    Returns
    -------
    OperationPool
        The operations; `left_out` has those that are not applicable, with the reason.

    Examples
    --------
    >>> pool = operation_pool(sfreq=100, ch_names=["EEG Fpz-Cz", "EEG Pz-Oz"])
    >>> pool.left_out["channel_symmetry"]
    'no channel has a partner on the other side of the head'
    """
    if windows is not None:
        if sfreq is not None or ch_names is not None:
            raise ValueError("give `windows`, or `sfreq` and `ch_names`, not both.")
        info = getattr(windows, "info", None)
        if info is not None:
            sfreq, ch_names = float(info["sfreq"]), list(info["ch_names"])
            positions = measured_positions(info) if positions is None else positions
        elif hasattr(windows, "sfreq") and hasattr(windows, "ch_names"):
            sfreq, ch_names = windows.sfreq, windows.ch_names
            positions = getattr(windows, "positions", None) if positions is None else positions
        else:
            raise TypeError(
                "`windows` must have `sfreq` and `ch_names`, or an MNE `info`, "
                f"got {type(windows).__name__}."
            )
    if sfreq is None or ch_names is None:
        raise ValueError("give `windows`, or both `sfreq` and `ch_names`.")
    if isinstance(ch_names, str) or not len(ch_names):
        raise ValueError(f"`ch_names` must be a list of channel names, got {ch_names!r}.")
    measured = None if positions is None else np.asarray(positions, dtype=float)
    montage = resolve_montage(ch_names, measured)
    pool = eeg_pool(Sensors(sfreq, ch_names, montage.positions, montage.partner))
    return pool if operations is None else pool.select(operations)
