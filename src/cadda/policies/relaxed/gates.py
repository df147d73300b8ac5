"""Hard choices in the forward pass that are soft in the backward pass."""

from __future__ import annotations

from typing import Any

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
    # torch has no types for `apply`.
    taken: Tensor = _Gate.apply(x, changed, hard, soft)  # type: ignore[no-untyped-call]
    return taken


class _Gate(torch.autograd.Function):
    """Take the changed window where ``hard`` is 1; differentiable in ``soft``, see `gate`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, changed: Tensor, hard: Tensor, soft: Tensor) -> Tensor:
        return torch.where(per_window(hard, x).bool(), changed, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, changed, hard = ctx.saved_tensors
        of_changed = gradient * per_window(hard, x)
        of_x = gradient - of_changed if ctx.needs_input_grad[0] else None
        of_soft = None
        if ctx.needs_input_grad[3]:
            of_soft = (gradient * (changed.detach() - x.detach())).flatten(1).sum(1)
        return of_x, of_changed if ctx.needs_input_grad[1] else None, None, of_soft


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
