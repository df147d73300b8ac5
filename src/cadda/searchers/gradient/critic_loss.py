"""Parts of the loss of a critic: its gradient penalty, and pairs of windows of one class."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["gradient_penalty", "partners"]


def gradient_penalty(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Measure how far the slope of a critic is from 1.

    Parameters
    ----------
    critic : callable
        Maps windows to one critic score each, which must not depend on other windows.
    x : Tensor
        Windows at which to measure.

    Returns
    -------
    Tensor
        Mean over windows of (‖∇D‖ − 1)², the norm being over all axes but that of the windows;
        differentiable in the parameters of the critic.
    """
    point = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    length: Tensor = torch.linalg.vector_norm(slope.flatten(1), dim=1)
    return (length - 1).square().mean()


def partners(y: Tensor, index: Tensor, generator: torch.Generator) -> Tensor:
    """Draw another window of the same class for each of some windows.

    Parameters
    ----------
    y : Tensor
        Labels of all windows.
    index : Tensor
        Windows that get a partner.
    generator : torch.Generator
        Source of randomness, on the device of the labels.

    Returns
    -------
    Tensor
        Indices of the partners; a window that is alone in its class is its own.
    """
    order = y.argsort(stable=True)
    size = y.bincount()
    start = (size.cumsum(0) - size)[y[index]]
    place = order.argsort()[index] - start
    others = size[y[index]] - 1
    share = torch.rand(len(index), generator=generator, device=y.device)
    return order[start + (place + 1 + (share * others).long()) % (others + 1)]
