"""Standardisation to mean 0 and standard deviation 1, per window or per recording."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda.data.checks import chunks

__all__ = ["Standardise", "standardise", "standardise_as"]

Standardise: TypeAlias = Literal["window", "recording"] | None
"""What is standardised: each channel of a window, or of a recording."""


def standardise(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Standardise each channel of each window; a flat channel becomes zeros.

    `out` may be `x` itself.
    """
    out = torch.empty_like(x) if out is None else out
    with torch.no_grad():
        for here in chunks(len(x)):
            chunk = x[here]
            flat = chunk.amax(-1, keepdim=True) == chunk.amin(-1, keepdim=True)
            # In double precision, as an offset may be a thousand times the signal.
            centred = chunk.double()
            centred = centred - centred.mean(-1, keepdim=True)
            scale = centred.square().mean(-1, keepdim=True).sqrt()
            out[here] = (centred / scale).masked_fill_(flat, 0.0)
    return out


def standardise_as(
    how: Standardise, x: NDArray[np.float32], groups: NDArray[np.str_] | None = None
) -> None:
    """Standardise windows in place.

    The rows of `groups`, shape (n_windows, n_keys), identify recordings; None means one recording.
    """
    if how == "window":
        tensor = torch.from_numpy(x)
        standardise(tensor, out=tensor)
    elif how == "recording" and groups is None:
        _standardise_recording(x)
    elif how == "recording" and groups is not None:
        for group in np.unique(groups, axis=0):
            here = (groups == group).all(axis=1)
            part = x[here]
            _standardise_recording(part)
            x[here] = part


def _standardise_recording(x: NDArray[np.float32]) -> None:
    """Scale each channel over all windows, in place; a flat channel becomes zeros."""
    if not len(x):
        return
    parts = [x[here] for here in chunks(len(x))]
    count = x.shape[0] * x.shape[2]
    mean = np.sum([part.sum(axis=(0, 2), dtype=float) for part in parts], axis=0) / count
    squares = [((part - mean[:, None]) ** 2).sum(axis=(0, 2)) for part in parts]
    power = np.sum(squares, axis=0) / count
    # Not from the power, which rounding keeps above 0.
    varies = x.max(axis=(0, 2)) > x.min(axis=(0, 2))
    factor = np.divide(1.0, np.sqrt(power), out=np.zeros_like(power), where=varies)
    for part in parts:
        part[:] = (part - mean[:, None]) * factor[:, None]
