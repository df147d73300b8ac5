"""Hard choices in the forward pass that are soft in the backward pass."""

from __future__ import annotations

import torch
from torch import Tensor

from cadda.policies.dispatch import per_window
from cadda.signal.relaxation import relaxed_bernoulli

__all__ = ["attach", "gate"]


def gate(x: Tensor, changed: Tensor, probability: Tensor, noise: Tensor, tau: float) -> Tensor:
    """Choose the changed window with probability p, else the original.

    Parameters
    ----------
    x : Tensor
        Windows before the operation.
    changed : Tensor
        Windows after the operation.
    probability : Tensor
        p of each window, shape (n_windows,).
    noise : Tensor
        Uniform numbers of shape (n_windows,).
    tau : float
        Temperature of the relaxed Bernoulli variable.

    Returns
    -------
    Tensor
        Hard in the forward pass; in the backward pass m O(x) + (1 − m) x with m relaxed, as far as
        p is concerned.
    """
    hard, soft = relaxed_bernoulli(probability, noise, tau)
    taken = torch.where(per_window(hard, x).bool(), changed, x)
    return attach(taken, soft, changed.detach() - x.detach()) if soft.requires_grad else taken


def attach(value: Tensor, slope: Tensor, direction: Tensor) -> Tensor:
    """Attach windows to the gradient of a number per window, without changing a value.

    Parameters
    ----------
    value : Tensor
        Windows, returned bit for bit.
    slope : Tensor
        Numbers s of shape (n_windows,) to which gradients flow.
    direction : Tensor
        Derivative of the windows in s.

    Returns
    -------
    Tensor
        ``value``, which in the backward pass is ``value + s * direction``.
    """
    return torch.addcmul(value, per_window(slope - slope.detach(), value), direction)
