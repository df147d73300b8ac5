"""Mixed precision and compilation of the forward pass of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

__all__ = ["Precision", "accelerated"]

Precision: TypeAlias = Literal["float32", "bfloat16"]


def accelerated(
    model: nn.Module, *, precision: Precision, compiled: bool
) -> Callable[[Tensor], Any]:
    """Return the forward pass of a model for training; weights and logits stay as they are.

    Parameters
    ----------
    model : nn.Module
        The model.
    precision : 'float32' | 'bfloat16'
        ``"bfloat16"`` computes layers that allow it with 16 bits, as `torch.autocast` does.
    compiled : bool
        Whether `torch.compile` compiles the model when it is first called.

    Returns
    -------
    callable
        Maps windows to what the model returns for them.
    """
    forward: Callable[[Tensor], Any] = torch.compile(model) if compiled else model
    if precision == "float32":
        return forward

    def mixed(x: Tensor) -> Any:
        with torch.autocast(x.device.type, torch.bfloat16):
            output = forward(x)
        is_reduced = isinstance(output, Tensor) and output.dtype is torch.bfloat16
        return output.to(x.dtype) if is_reduced else output

    return mixed
