"""NaN and infinite samples of recordings, and the windows that a filter would spread them to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["fill_missing", "has_missing", "missing_in_reference"]


def fill_missing(signal: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Replace samples that are not finite by 0, in place; return where they were, if anywhere.

    A filter of finite length keeps the effect within its reach. MNE's filters work on segments,
    and NaN would fill these.
    """
    missing = ~np.isfinite(signal)
    if not missing.any():
        return None
    signal[missing] = 0.0
    return missing


def has_missing(
    missing: NDArray[np.bool_], starts: NDArray[np.int64], n_times: int, reach: int
) -> NDArray[np.bool_]:
    """Return which parts have missing samples, or have some within a reach on either side.

    Parameters
    ----------
    missing : array
        Whether a sample is missing, shape (n_channels, n_samples).
    starts : array
        First sample of each part, shape (n_parts,).
    n_times : int
        Number of samples of a part.
    reach : int
        Number of samples on either side that it depends on.

    Returns
    -------
    array
        Shape (n_parts, n_channels).
    """
    n_channels, n_samples = missing.shape
    count = np.zeros((n_channels, n_samples + 1), dtype=np.int64)
    np.cumsum(missing, axis=-1, out=count[:, 1:])
    first = np.clip(starts - reach, 0, n_samples)
    last = np.clip(starts + n_times + reach, 0, n_samples)
    return np.asarray((count[:, last] > count[:, first]).T)


def missing_in_reference(
    missing: NDArray[np.bool_], reference: Sequence[int], n_picks: int
) -> NDArray[np.bool_]:
    """Return where channels lack samples, by themselves or by a reference that is no channel.

    Channels are the last axis but one, the first `n_picks` of them those of the windows.
    """
    others = [row for row in reference if row >= n_picks]
    return np.asarray(missing[..., :n_picks, :] | missing[..., others, :].any(-2, keepdims=True))
