"""ADDA, CADDA and DADA: a policy learned by the gradient of the validation loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._random import Seeds, uniform
from cadda.policies.estimators import ControlVariate, relax_gradient
from cadda.policies.relaxed import RelaxedDraw, RelaxedPolicy
from cadda.search.reward import (
    Hypergradient,
    Weights,
    loss_gradient,
    unrolled,
    weights_of,
    window_rewards,
)
from cadda.search.task import SearchTask

__all__ = ["BilevelSearcher", "BilevelSettings", "SearchStep"]

SCALE_MEMORY = 0.98
"""How much of the running scale of rewards is kept from one step to the next."""


@dataclass(frozen=True)
class BilevelSettings:
    """How to search.

    Parameters
    ----------
    batch_size : int
        Training windows per step.
    valid_batch_size : int
        Validation windows per step, drawn anew each time.
    model_lr : float
        Learning rate of Adam on the model.
    policy_lr : float
        Learning rate of Adam on the policy.
    control_lr : float
        Learning rate of Adam on the control variate.
    unroll_lr : float
        Step size ξ of the unrolled training step.
    warmup_steps : int
        Steps before the policy starts to move.
    hypergradient : 'finite-difference' | 'exact'
        How rewards are computed.
    estimator : 'relax' | 'straight-through'
        How the weights of choices learn.
    paired : bool
        Whether to subtract from each reward that of the same window left as it is.
    reuse_inner_gradient : bool
        Whether the gradient of the unrolled step also updates the model.
    seed : int
        Decides everything that is random.
    """

    batch_size: int = 16
    valid_batch_size: int = 64
    model_lr: float = 1e-3
    policy_lr: float = 0.02
    control_lr: float = 0.01
    unroll_lr: float = 1e-3
    warmup_steps: int = 100
    hypergradient: Hypergradient = "finite-difference"
    estimator: Literal["relax", "straight-through"] = "relax"
    paired: bool = True
    reuse_inner_gradient: bool = True
    seed: int = 0


@dataclass(frozen=True)
class SearchStep:
    """One step of a search is done.

    Parameters
    ----------
    step : int
        Number of the step, from 1.
    train_loss : float
        Loss of the augmented training batch.
    reward : float
        Mean reward of the augmented windows beyond that of the same windows unchanged; 0 during
        warm-up.
    entropy : float
        Mean entropy of the choices, relative to that of a uniform choice.
    """

    step: int
    train_loss: float
    reward: float
    entropy: float


class BilevelSearcher:
    """Learns a policy and a model together, a step at a time.

    Parameters
    ----------
    task : SearchTask
        What to search on.
    policy : RelaxedPolicy
        The policy that learns; its shape makes it ADDA, CADDA or DADA.
    settings : BilevelSettings
        How to search.
    """

    def __init__(self, task: SearchTask, policy: RelaxedPolicy, settings: BilevelSettings) -> None:
        self.task, self.settings = task, settings
        self.policy = policy.to(task.device)
        self.seeds = Seeds(settings.seed)
        self.model = task.make_model(self.seeds.integer("model")).to(task.device)
        self.model_optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.model_lr)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=settings.policy_lr)
        self.control = self._make_control()
        self.control_optimizer = torch.optim.Adam(
            self.control.parameters(), lr=settings.control_lr
        )
        self.step_number = 0
        self.reward_scale = 0.0

    def run(self) -> Iterator[SearchStep]:
        """Search on and on; stop by not asking for more.

        Yields
        ------
        SearchStep
            What happened in each step.
        """
        while True:
            yield self.step()

    def step(self) -> SearchStep:
        """Do one step: augment, reward, move the policy, train the model.

        Returns
        -------
        SearchStep
            What happened.
        """
        self.step_number += 1
        learns = self.step_number > self.settings.warmup_steps
        x, y = self.task.training_batch(
            self._indices("training batch", len(self.task.x_train), self.settings.batch_size)
        )
        draw = self.policy.draw(x, y, generator=self._stream("draws"))
        with torch.set_grad_enabled(learns):
            augmented = self.policy.transform(x, draw)
        before = {name: value.clone() for name, value in weights_of(self.model).items()}
        loss, gradient = self._train_model(augmented.detach(), y)
        mean_reward = 0.0
        if learns:
            if not self.settings.reuse_inner_gradient:
                _, gradient = loss_gradient(
                    self.model, before, augmented.detach(), y, noise_seed=self._seed("inner")
                )
            mean_reward = self._move_policy(before, gradient, x, augmented, y, draw)
        return SearchStep(self.step_number, loss, mean_reward, self.entropy())

    def entropy(self) -> float:
        """Say how undecided the choices are: 1 is uniform, 0 is certain.

        Returns
        -------
        float
            Mean entropy over the choices, relative to the largest possible.
        """
        log_share = self.policy.weight.detach().log_softmax(-1)
        largest = torch.tensor(float(log_share.shape[-1])).log().clamp_min(1e-12)
        return float(-(log_share.exp() * log_share).sum(-1).mean() / largest)

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on in another process.

        Returns
        -------
        dict
            Tensors and plain values.
        """
        return {
            "step_number": self.step_number,
            "reward_scale": self.reward_scale,
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; the steps to come are the same bytes.

        Parameters
        ----------
        state : dict
            Result of `state_dict`.
        """
        self.step_number, self.reward_scale = state["step_number"], state["reward_scale"]
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "policy": self.policy,
            "control": self.control,
            "model_optimizer": self.model_optimizer,
            "policy_optimizer": self.policy_optimizer,
            "control_optimizer": self.control_optimizer,
        }

    def _train_model(self, x: Tensor, y: Tensor) -> tuple[float, Weights]:
        """Train the model for one step and give the loss and the gradient that it used."""
        self.model.train()
        self.model_optimizer.zero_grad()
        with torch.random.fork_rng(devices=[x.device] if x.device.type == "cuda" else []):
            torch.manual_seed(self._seed("inner"))
            loss = cross_entropy(self.model(x), y)
        torch.autograd.backward(loss)
        gradient = {
            name: torch.zeros_like(value) if value.grad is None else value.grad.clone()
            for name, value in self.model.named_parameters()
        }
        self.model_optimizer.step()
        return loss.item(), gradient

    def _move_policy(
        self,
        weights: Weights,
        gradient: Weights,
        x: Tensor,
        augmented: Tensor,
        y: Tensor,
        draw: RelaxedDraw,
    ) -> float:
        """Ascend the mean reward by one step of Adam, and give the mean paired reward."""
        after = unrolled(weights, gradient, self.settings.unroll_lr)
        valid = self.task.validation_batch(
            self._indices(
                "validation batch", len(self.task.x_valid), self.settings.valid_batch_size
            )
        )
        seed = self._seed("inner")
        _, direction = loss_gradient(self.model, after, *valid, noise_seed=self._seed("valid"))
        method = self.settings.hypergradient
        rewards = window_rewards(
            self.model, weights, direction, augmented, y, method=method, noise_seed=seed
        )
        centred = rewards.detach()
        if self.settings.paired:
            with torch.no_grad():
                centred = centred - window_rewards(
                    self.model, weights, direction, x, y, method=method, noise_seed=seed
                )
        scale = self._update_scale(centred)
        self._set_gradients(rewards / scale, centred / scale, draw)
        self.policy_optimizer.step()
        return float(centred.mean())

    def _set_gradients(self, rewards: Tensor, centred: Tensor, draw: RelaxedDraw) -> None:
        """Give p and µ their pathwise gradients, and w that of its estimator."""
        parameters = list(self.policy.parameters())
        gradients = torch.autograd.grad(
            -rewards.mean(), parameters, allow_unused=True, materialize_grads=True
        )
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        if self.settings.estimator == "relax":
            self.policy.weight.grad = -self._relaxed_ascent(centred, draw)

    def _relaxed_ascent(self, reward: Tensor, draw: RelaxedDraw) -> Tensor:
        """Estimate by RELAX how the mean reward grows with w, and train the control variate."""
        choices = self.policy.choices(draw)
        first, unit = self._units(draw)
        size = torch.bincount(unit).to(reward.dtype)
        mean = torch.zeros_like(size).index_add_(0, unit, reward) / size
        noise = uniform(choices.weight[first].shape, reward, self._stream("conditional"))
        estimate = relax_gradient(
            choices.weight[first],
            choices.chosen[first],
            choices.gumbel[first],
            noise,
            mean,
            self.control,
            draw.row[first],
        )
        self.control_optimizer.zero_grad()
        torch.autograd.backward(estimate.square().mean())
        self.control_optimizer.step()
        share = (size / size.sum())[:, None, None]
        (ascent,) = torch.autograd.grad(
            choices.weight[first], self.policy.weight, share * estimate.detach()
        )
        return ascent

    def _units(self, draw: RelaxedDraw) -> tuple[Tensor, Tensor]:
        """Group windows that share a choice: a member of each group, and the group of each."""
        n_windows = len(draw.row)
        window = torch.arange(n_windows, device=draw.row.device)
        if self.policy.granularity == "window":
            return window, window
        rows, unit = torch.unique(draw.row, return_inverse=True)
        first = torch.full((len(rows),), n_windows, device=window.device)
        return first.scatter_reduce(0, unit, window, "amin"), unit

    def _update_scale(self, reward: Tensor) -> float:
        """Follow the size of the rewards, which grow tenfold as the model fits."""
        size = float(reward.square().mean().sqrt())
        memory = SCALE_MEMORY if self.reward_scale else 0.0
        self.reward_scale = memory * self.reward_scale + (1 - memory) * size
        return max(self.reward_scale, 1e-12)

    def _make_control(self) -> ControlVariate:
        shape = self.policy.weight.shape
        n_choices = shape[-2] if len(shape) == 4 else 1
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seeds.integer("control"))
            return ControlVariate(n_choices, shape[-1], self.policy.n_rows).to(self.task.device)

    def _indices(self, name: str, n: int, size: int) -> Tensor:
        return torch.randperm(n, generator=self.seeds.stream(name, step=self.step_number))[:size]

    def _stream(self, name: str) -> torch.Generator:
        return self.seeds.stream(name, device=self.task.device, step=self.step_number)

    def _seed(self, name: str) -> int:
        return self.seeds.integer(name, step=self.step_number)
