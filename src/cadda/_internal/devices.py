"""Tensors on a device that works asynchronously, such as a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["is_asynchronous", "most_accurate", "to_host"]


def is_asynchronous(device: torch.device) -> bool:
    """Return whether reading a value makes Python wait for all that the device has to do."""
    return device.type != "cpu"


def most_accurate(device: torch.device) -> torch.dtype:
    """Return the floating-point type with the most digits that a device has."""
    return torch.float32 if device.type == "mps" else torch.float64


def to_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy tensors of one device and dtype to the CPU in one transfer.

    Parameters
    ----------
    tensors : sequence of Tensor
        Tensors of any shapes.

    Returns
    -------
    list of Tensor
        The same tensors on the CPU, detached.
    """
    values = torch.cat([tensor.detach().flatten() for tensor in tensors]).cpu()
    parts = torch.split(values, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
