"""Windows that are copies of others, as of one recording under two names."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.rows import Rows, Signals
from cadda._internal.user_warnings import warn_user
from cadda.data.quality import first_of
from cadda.exceptions import DataWarning

__all__ = ["warn_of_copies"]

N_SAMPLES = 8
"""Samples in the middle of the first and last channel by which windows are grouped."""

MAX_BYTES = 1 << 26
"""Windows that are compared in full, of those that agree in these samples."""


def warn_of_copies(
    signals: Signals, subject: NDArray[np.str_], recording: NDArray[np.str_]
) -> None:
    """Warn of windows that are the same, byte by byte, and of whom they are.

    Windows of several gigabytes, in a file, are checked whenever they are opened. So of each only
    a few samples are read, on one or two pages of memory, and only windows that agree in these are
    compared in full; of these at most 64 MiB, as in a data set that is there twice all agree. The
    number is then a lower bound. Flat windows are the same without being copies.
    """
    array, index = _array_of(signals)
    candidates = _alike(array, index)
    limit = max(2, MAX_BYTES // max(array[0].nbytes, 1))
    first: dict[bytes, int] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for i in np.sort(candidates[:limit]).tolist():
        window = np.ascontiguousarray(array[i if index is None else index[i]])
        if (window == window[:, :1]).all():
            continue
        original = first.setdefault(hashlib.sha256(window.data).digest(), i)
        if original != i:
            pairs[_name(subject, recording, original), _name(subject, recording, i)] += 1
    if pairs:
        # Two people with the same windows first.
        ranked = sorted(pairs.items(), key=lambda item: (item[0][0] == item[0][1], -item[1]))
        named = [
            f"{n} within {own!r}" if own == other else f"{n} of {own!r} and {other!r}"
            for (own, other), n in ranked
        ]
        warn_user(
            f"{'at least ' * (len(candidates) > limit)}{pairs.total()} of {len(signals)} windows "
            f"are copies of others: {first_of(named)}; they count several times, perhaps in "
            "training and in testing, so pass each recording once, with one subject.",
            DataWarning,
        )


def _array_of(signals: Signals) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
    """Return an array without reading it, and which of its rows are the windows; None for all."""
    if isinstance(signals, Rows):
        return signals.array, None if signals.index is None else signals.index.numpy()
    return signals.numpy(), None


def _alike(array: NDArray[np.float32], index: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the windows that agree with another in some samples, those that agree in a row."""
    start = max(array.shape[-1] - N_SAMPLES, 0) // 2
    where: Any = slice(None) if index is None else index
    sample = np.concatenate(
        [array[:, channel, start : start + N_SAMPLES][where] for channel in (0, -1)], axis=1
    )
    changes = np.flatnonzero((sample != sample[:, :1]).any(axis=1))
    bits = np.ascontiguousarray(sample[changes]).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(0).integers(1 << 63, size=bits.shape[1], dtype=np.uint64)
    # Odd factors, so that no bit is lost; products wrap around.
    keys = (bits * (2 * factors + 1)).sum(axis=1, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    same = np.diff(keys[order]) == 0
    has_other = np.zeros(len(order), dtype=bool)
    has_other[:-1] |= same
    has_other[1:] |= same
    return np.asarray(changes[order[has_other]])


def _name(subject: NDArray[np.str_], recording: NDArray[np.str_], i: int) -> str:
    own, name = str(subject[i]), str(recording[i])
    return own if own == name else f"{own}/{name}"
