"""Adam for the weights of choices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

__all__ = ["ChoiceAdam"]

SMALLEST = 1e-12


class ChoiceAdam(Optimizer):
    """Adam with one second moment for all options of a choice.

    Plain Adam divides the slope of each weight by its own size. Then an option without any effect,
    which hears the same faint "less than the others" in every step, moves as fast as one that is
    known to be harmful, and faster than one whose harm is known through noise. With a common
    divisor the direction of the gradient remains.

    Parameters
    ----------
    parameters : iterable of Tensor
        Weights; the last axis has the options of a choice.
    lr : float
        Learning rate.
    betas : tuple of float
        Decay rates of the means of slopes and of their squares.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas})

    # torch overloads this for optimisers that evaluate the loss again, which has no place here.
    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step.

        Parameters
        ----------
        closure : None
            Not used.
        """
        for group in self.param_groups:
            first, second = group["betas"]
            for one in group["params"]:
                if one.grad is None:
                    continue
                state = self.state[one]
                if not state:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(one)
                    state["square"] = torch.zeros_like(one[..., :1])
                state["step"] += 1
                state["mean"].lerp_(one.grad, 1 - first)
                state["square"].lerp_(one.grad.square().mean(-1, keepdim=True), 1 - second)
                size = (state["square"] / (1 - second ** state["step"])).sqrt()
                rate = group["lr"] / (1 - first ** state["step"])
                one.sub_(rate * state["mean"] / size.clamp_min(SMALLEST))
