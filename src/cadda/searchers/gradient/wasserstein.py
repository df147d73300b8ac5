"""What comparing distributions by a critic takes: pairs of the same class, and a slope of 1."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

__all__ = ["Classifier", "gradient_penalty", "partners"]


class Classifier(nn.Module):
    """A critic as a model, which only classifies.

    Parameters
    ----------
    critic : nn.Module
        Maps windows to logits and criticism; it is shared, not copied.
    """

    def __init__(self, critic: nn.Module) -> None:
        super().__init__()
        self.critic = critic

    def forward(self, x: Tensor) -> Tensor:
        """Classify windows.

        Parameters
        ----------
        x : Tensor
            The windows.

        Returns
        -------
        Tensor
            Logits of shape (n_windows, n_classes).
        """
        logits: Tensor = self.critic(x)[0]
        return logits


def gradient_penalty(criticise: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Measure how far the slope of a critic is from 1.

    Parameters
    ----------
    criticise : callable
        Maps windows to one criticism each, of which none may depend on another window.
    x : Tensor
        Windows at which to measure.

    Returns
    -------
    Tensor
        Mean over windows of (‖∇D‖ − 1)², the norm being over all axes but that of the windows;
        differentiable in the parameters of the critic.
    """
    point = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(criticise(point).sum(), point, create_graph=True)
    length: Tensor = torch.linalg.vector_norm(slope.flatten(1), dim=1)
    return (length - 1).square().mean()


def partners(y: Tensor, index: Tensor, generator: torch.Generator) -> Tensor:
    """Draw for some windows another one of the same class each.

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
