"""Standardisation to mean 0 and standard deviation 1, per window or per recording."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda.data.checks import chunks
from cadda.data.rounding import is_flat

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
            flat = torch.from_numpy(is_flat(chunk.numpy()))[..., None]
            # In double precision, as an offset may be a thousand times the signal.
            centred = chunk.double()
            centred = centred - centred.mean(-1, keepdim=True)
            scale = centred.square().mean(-1, keepdim=True).sqrt()
            out[here] = (centred / scale).masked_fill_(flat, 0.0)
    return out


def standardise_as(
    how: Standardise, x: NDArray[Any], groups: NDArray[np.str_] | None = None
) -> NDArray[np.float32]:
    """Return standardised windows as float32; those that are float32 are changed in place.

    The rows of `groups`, shape (n_windows, n_keys), identify recordings; None means one recording.
    """
    out = x if x.dtype == np.float32 else np.empty(x.shape, dtype=np.float32)
    if how == "window":
        standardise(torch.from_numpy(x), out=torch.from_numpy(out))
    elif how == "recording" and groups is None:
        _standardise_recording(x, out)
    elif how == "recording" and groups is not None:
        for group in np.unique(groups, axis=0):
            here = (groups == group).all(axis=1)
            part = x[here]
            scaled = np.empty(part.shape, dtype=np.float32)
            _standardise_recording(part, scaled)
            out[here] = scaled
    elif out is not x:
        out[:] = x
    return out


def _standardise_recording(x: NDArray[Any], out: NDArray[Any]) -> None:
    """Scale each channel over all windows; a flat channel becomes zeros."""
    if not len(x):
        return
    count = x.shape[0] * x.shape[2]
    sums = [x[here].sum(axis=(0, 2), dtype=float) for here in chunks(len(x))]
    mean = np.sum(sums, axis=0) / count
    squares = [((x[here] - mean[:, None]) ** 2).sum(axis=(0, 2)) for here in chunks(len(x))]
    power = np.sum(squares, axis=0) / count
    # Not from the power, which rounding keeps above 0.
    varies = ~is_flat(x, axis=(0, 2))
    factor = np.divide(1.0, np.sqrt(power), out=np.zeros_like(power), where=varies)
    for here in chunks(len(x)):
        out[here] = (x[here] - mean[:, None]) * factor[:, None]
