"""Checks of arguments, made once at the public border, with one way of phrasing errors."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["check_labels", "check_magnitude", "check_positive", "check_windows"]


def check_positive(name: str, value: float) -> float:
    """Refuse what is not a finite number above 0.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float
        Its value.

    Returns
    -------
    float
        The value.
    """
    if not 0 < value < float("inf"):
        raise ValueError(f"`{name}` must be a finite number above 0, got {value}.")
    return value


def check_windows(x: Tensor, *, images: bool = False) -> Tensor:
    """Refuse what is not a batch of windows.

    Parameters
    ----------
    x : Tensor
        Should have shape (n_windows, n_channels, n_times) and be float32 or float64.
    images : bool
        Whether the windows are images, which may have further axes before height and width.

    Returns
    -------
    Tensor
        The same tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(
            f"`x` must be a torch.Tensor, got {type(x).__name__}; use torch.as_tensor(x)."
        )
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"`x` must be float32 or float64, got {x.dtype}; use x.float().")
    if x.ndim < 3 or (x.ndim > 3 and not images):
        raise ValueError(
            "`x` must have shape (n_windows, n_channels, n_times), "
            f"got {tuple(x.shape)}; one window is x[None]."
        )
    return x


def check_magnitude(magnitude: float | Tensor | None, x: Tensor) -> Tensor:
    """Turn a magnitude into one value per window.

    Parameters
    ----------
    magnitude : float | Tensor | None
        A number, a 0-d tensor or a tensor of shape (n_windows,), in [0, 1].
    x : Tensor
        The windows.

    Returns
    -------
    Tensor
        Shape (n_windows,), dtype and device of ``x``, attached to the graph of ``magnitude``.
    """
    if magnitude is None:
        raise ValueError("`magnitude` must be given for this operation: a number in [0, 1].")
    value = torch.as_tensor(magnitude, dtype=x.dtype, device=x.device)
    if value.ndim > 1 or (value.ndim == 1 and len(value) != len(x)):
        raise ValueError(
            f"`magnitude` must be one number or one per window, shape ({len(x)},), "
            f"got shape {tuple(value.shape)}."
        )
    outside = ~((value >= 0) & (value <= 1))
    if bool(outside.any()):
        raise ValueError(f"`magnitude` must be in [0, 1], got {value[outside][0].item():g}.")
    return value.expand(len(x))


def check_labels(y: Tensor | None, x: Tensor, n_classes: int) -> Tensor:
    """Refuse labels that do not name a class for every window.

    Parameters
    ----------
    y : Tensor | None
        Integer labels of shape (n_windows,).
    x : Tensor
        The windows.
    n_classes : int
        Labels go from 0 to ``n_classes - 1``.

    Returns
    -------
    Tensor
        The labels as int64, on the device of ``x``.
    """
    if y is None:
        raise ValueError("`y` must be given: this policy is class-wise and needs the labels.")
    labels = torch.as_tensor(y, device=x.device)
    if labels.shape != (len(x),):
        raise ValueError(
            f"`y` must have one label per window, shape ({len(x)},), got {tuple(labels.shape)}."
        )
    if labels.is_floating_point() or labels.is_complex() or labels.dtype is torch.bool:
        raise TypeError(f"`y` must hold integers, got {labels.dtype}; use y.long().")
    unknown = (labels < 0) | (labels >= n_classes)
    if bool(unknown.any()):
        raise ValueError(
            f"`y` must be in 0 … {n_classes - 1}, the classes of this policy, "
            f"got {labels[unknown][0].item()}."
        )
    return labels.long()
