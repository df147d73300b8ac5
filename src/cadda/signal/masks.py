"""Smooth windows in time or frequency."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["smooth_box"]


def smooth_box(axis: Tensor, centre: Tensor, width: Tensor, steepness: float) -> Tensor:
    r"""Give a box with smooth edges as the difference of two sigmoids.

    .. math:: \sigma\big(\lambda(t - c + w/2)\big) - \sigma\big(\lambda(t - c - w/2)\big)

    A width of 0 gives exactly 0 everywhere.

    Parameters
    ----------
    axis : Tensor
        Times or frequencies t, shape (n_points,).
    centre : Tensor
        Middle c of each box, shape (n_boxes,).
    width : Tensor
        Width w of each box, shape (n_boxes,).
    steepness : float
        Steepness λ of the edges, one over the unit of ``axis``.

    Returns
    -------
    Tensor
        Values in [0, 1], about 1 inside and 0 outside, shape (n_boxes, n_points).
    """
    distance = axis - centre[:, None]
    half = width[:, None] / 2
    return torch.sigmoid(steepness * (distance + half)) - torch.sigmoid(
        steepness * (distance - half)
    )
