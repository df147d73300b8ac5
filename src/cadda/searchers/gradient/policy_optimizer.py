"""Updating a relaxed policy by the rewards of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from cadda._internal.devices import is_asynchronous, most_accurate
from cadda._internal.random import Seeds, seeded, uniform
from cadda.policies.relaxed.base import RelaxedDraw, RelaxedPolicy
from cadda.policies.relaxed.estimators import ControlVariate, relax_gradient
from cadda.policies.relaxed.policies import MixturePolicy, StagedPolicy
from cadda.searchers.gradient.base import assign_gradients
from cadda.training.checkpoint import State, Stateful
from cadda.training.step import restore_part

__all__ = ["ChoiceAdam", "Estimator", "PolicyAscent"]

Estimator = Literal["relax", "straight-through"]

MIN_DIVISOR = 1e-12

SCALE_MEMORY = 0.98
"""How much of the running scale of rewards is kept from one step to the next."""


class ChoiceAdam(Optimizer):
    """Adam with one second moment for all options of a choice, the last axis of its parameters.

    Plain Adam divides the gradient of each weight by its own size. Then an option without any
    effect, whose gradient is small but always of the same sign, moves as fast as one that is
    clearly harmful, and faster than one that is harmful with noise. A common divisor keeps the
    direction of the gradient.
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
        """Run one step."""
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(parameter)
                    state["square"] = torch.zeros_like(parameter[..., :1])
                state["step"] += 1
                state["mean"].lerp_(parameter.grad, 1 - first)
                state["square"].lerp_(parameter.grad.square().mean(-1, keepdim=True), 1 - second)
                size = (state["square"] / (1 - second ** state["step"])).sqrt()
                rate = group["lr"] / (1 - first ** state["step"])
                parameter.sub_(rate * state["mean"] / size.clamp_min(MIN_DIVISOR))


class PolicyAscent:
    """Moves a policy towards higher rewards by Adam.

    Probabilities p and magnitudes µ get the pathwise derivative of the rewards, weights w of the
    choices that of an estimator; a mixture, which draws nothing, needs none. Rewards are divided
    by their running size, which grows tenfold as a model fits.

    A pathwise derivative follows the window and not its label. Where an operation changes the
    label, p learns by the score function instead, reward · ∇ log P(applied or not), and in a pool
    with such operations w always learns by RELAX.

    If ``pooled``, each parameter is the sum of a part that is common to all subpolicies and
    stages, and learns from every window, and its own. ``seed`` and ``control_lr`` are those of
    RELAX's control variate.
    """

    def __init__(
        self,
        policy: RelaxedPolicy,
        *,
        estimator: Estimator,
        lr: float,
        control_lr: float,
        pooled: bool,
        seed: int,
    ) -> None:
        self.policy = policy
        has_label_maps = policy.pool.label_table is not None
        self.uses_relax = (estimator == "relax" or has_label_maps) and not isinstance(
            policy, MixturePolicy
        )
        has_places = pooled and isinstance(policy, StagedPolicy)
        self.pooled = [
            (parameter, nn.Parameter(torch.zeros_like(parameter[:, :1, :1])))
            for parameter in (policy.parameters() if has_places else ())
        ]
        parts = [*((own, own) for own in policy.parameters()), *self.pooled]
        self.choice_optimizer = ChoiceAdam(
            [part for own, part in parts if own is policy.weight], lr=lr
        )
        self.optimizer = torch.optim.Adam(
            [part for own, part in parts if own is not policy.weight], lr=lr, foreach=True
        )
        self.control = _make_control(policy, seed)
        self.control_optimizer = torch.optim.Adam(
            self.control.parameters(), lr=control_lr, foreach=True
        )
        device = policy.weight.device
        self.scale = torch.zeros((), dtype=most_accurate(device), device=device)

    def ascend(
        self, rewards: Tensor, baseline: Tensor, draw: RelaxedDraw, generator: Generator
    ) -> None:
        """Run one step.

        Parameters
        ----------
        rewards : Tensor
            Reward of each window, attached to the parameters of the policy.
        baseline : Tensor
            What each reward is compared with; does not depend on the draw.
        draw : RelaxedDraw
            What was drawn for the windows.
        generator : torch.Generator
            Source of randomness of RELAX.
        """
        gain = rewards.detach() - baseline
        scale = self._update_scale(gain)
        # RELAX has its own way to w, and the pathwise one is not free.
        parameters = [
            parameter
            for parameter in self.policy.parameters()
            if not (self.uses_relax and parameter is self.policy.weight)
        ]
        if draw.relabels is not None:
            rewards = rewards + gain * self.policy.gate_score(draw)
        assign_gradients(-rewards.mean() / scale, parameters)
        if self.uses_relax:
            self.policy.weight.grad = -self.weight_gradient(gain / scale, draw, generator)
        self._step()

    def state_dict(self) -> State:
        """Return what `load_state_dict` needs in another process."""
        return {"scale": float(self.scale)} | {
            name: part.state_dict() for name, part in self._parts().items()
        }

    def load_state_dict(self, state: State) -> None:
        """Restore a saved state."""
        self.scale = torch.full_like(self.scale, state["scale"])
        for name, part in self._parts().items():
            restore_part(part, state[name])

    def _parts(self) -> dict[str, Stateful]:
        return {
            "optimizer": self.optimizer,
            "choice_optimizer": self.choice_optimizer,
            "control": self.control,
            "control_optimizer": self.control_optimizer,
        }

    @torch.no_grad()
    def _step(self) -> None:
        """Move each parameter by its own step of Adam and by that of its common part."""
        for own, common in self.pooled:
            common.zero_()
            common.grad = None if own.grad is None else own.grad.sum((1, 2), keepdim=True)
        self.choice_optimizer.step()
        self.optimizer.step()
        for own, common in self.pooled:
            own.add_(common)

    def _update_scale(self, gain: Tensor) -> Tensor:
        """Return the running size of rewards, shape (), which the first ones begin."""
        size = gain.square().mean().sqrt().to(self.scale.dtype)
        updated = SCALE_MEMORY * self.scale + (1 - SCALE_MEMORY) * size
        self.scale = torch.where(self.scale == 0, size, updated)
        return self.scale.clamp_min(1e-12).to(gain.dtype)

    def weight_gradient(self, reward: Tensor, draw: RelaxedDraw, generator: Generator) -> Tensor:
        """Estimate the gradient of the mean reward in w by RELAX, and train the control variate.

        Parameters
        ----------
        reward : Tensor
            Reward of each window, shape (n_windows,).
        draw : RelaxedDraw
            What was drawn for the windows.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        Tensor
            Of the shape of the weights.
        """
        choices, row = self.policy.choices(draw), draw.row
        weight, chosen, gumbel = choices.weight, choices.chosen, choices.gumbel
        size = torch.ones_like(reward)
        if self.policy.granularity == "batch":
            first, unit = self._units(draw)
            weight, chosen, gumbel, row = (
                values[first] for values in (weight, chosen, gumbel, row)
            )
            size, total = reward.new_zeros(2, len(first)).index_add_(
                1, unit, torch.stack((size, reward))
            )
            reward = total / size.clamp_min(1)
        noise = uniform(weight.shape, reward, generator)
        estimate = relax_gradient(weight, chosen, gumbel, noise, reward, self.control, row)
        self.control_optimizer.zero_grad()
        torch.autograd.backward(estimate.square().mean())
        self.control_optimizer.step()
        share = (size / size.sum())[:, None, None]
        (gradient,) = torch.autograd.grad(weight, self.policy.weight, share * estimate.detach())
        return gradient

    def _units(self, draw: RelaxedDraw) -> tuple[Tensor, Tensor]:
        """Group windows that share a choice: a member of each group, and the group of each."""
        n_windows, n_units, unit = len(draw.row), self.policy.n_rows, draw.row
        window = torch.arange(n_windows, device=unit.device)
        if n_units > 1 and not is_asynchronous(unit.device):
            rows, unit = torch.unique(unit, return_inverse=True)
            n_units = len(rows)
        # Else a row may be without windows; its share of the gradient is 0.
        first = torch.full((n_units,), n_windows - 1, device=window.device)
        return first.scatter_reduce(0, unit, window, "amin"), unit


def _make_control(policy: RelaxedPolicy, seed: int) -> ControlVariate:
    shape = policy.weight.shape
    n_choices = shape[-2] if len(shape) == 4 else 1
    with seeded(Seeds(seed).integer("control"), torch.device("cpu")):
        return ControlVariate(n_choices, shape[-1], policy.n_rows).to(policy.weight.device)
