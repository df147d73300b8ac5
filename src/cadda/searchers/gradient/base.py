"""What all searches by gradients share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

import torch
from torch import Tensor, nn

from cadda.exceptions import TrainingError
from cadda.policies.relaxed.base import RelaxedPolicy
from cadda.policies.relaxed.values import PolicyValues
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import SearchStep
from cadda.searchers.gradient.diagnostics import ClassSums
from cadda.training.checkpoint import State, Stateful
from cadda.training.problem import Problem
from cadda.training.step import restore_part

__all__ = ["READ_EVERY", "Searcher", "StepValues", "assign_gradients"]

READ_EVERY = 10
"""Steps after which the numbers of the steps are read, which makes Python wait for a GPU."""


@dataclass(frozen=True)
class StepValues:
    """Numbers of a step on the device, not read yet.

    Parameters
    ----------
    train_loss : Tensor
        Loss of the model, shape ().
    objective : Tensor
        What the optimizer lowered, which must be finite.
    entropy : Tensor
        Mean entropy of the choices after the step.
    reward : Tensor | None
        Mean reward; None before the policy learns.
    sums : ClassSums | None
        Rewards by class, if the step has them.
    """

    train_loss: Tensor
    objective: Tensor
    entropy: Tensor
    reward: Tensor | None = None
    sums: ClassSums | None = None


class Searcher(ABC):
    """Learns a policy, a step at a time; can be stopped, saved and resumed between steps."""

    uses_validation: ClassVar[bool] = True
    """Whether the policy learns from how the model does on validation windows."""

    def __init__(
        self,
        problem: Problem,
        policy: RelaxedPolicy,
        model: nn.Module,
        *,
        batch_size: int,
        warmup_epochs: int,
    ) -> None:
        self.problem, self.policy, self.model = problem, policy, model
        self.steps_per_epoch = math.ceil(len(problem.train.x) / batch_size)
        self.n_warmup = warmup_epochs * self.steps_per_epoch
        self.step_number = 0
        # Rewards of the steps of the last call of `step` or `run`, if they had any.
        self.class_sums: ClassSums | None = None

    @property
    def has_learned(self) -> bool:
        """Whether the policy has changed: whether the warm-up was over in the last step."""
        return self.step_number > self.n_warmup

    @abstractmethod
    def advance(self) -> StepValues:
        """Run one step without waiting for its numbers."""

    @abstractmethod
    def divergence(self, value: float, step: int) -> TrainingError:
        """Return the error for a step whose objective is not finite."""

    @abstractmethod
    def _parts(self) -> dict[str, Stateful]:
        """Return what has a state of its own, by name."""

    def step(self) -> SearchStep:
        """Run one step."""
        return self.run(1)[0]

    def run(self, n_steps: int) -> list[SearchStep]:
        """Run some steps."""
        steps: list[SearchStep] = []
        sums: list[ClassSums] = []
        while len(steps) < n_steps:
            n_read = min(READ_EVERY, n_steps - len(steps))
            values = [self.advance() for _ in range(n_read)]
            steps += self._read(values)
            sums += [value.sums for value in values if value.sums is not None]
        self.class_sums = reduce(add, sums) if sums else None
        return steps

    def _read(self, values: Sequence[StepValues]) -> list[SearchStep]:
        """Return the numbers of the last steps; raise if one of them has diverged."""
        rows = [
            torch.stack(
                (
                    value.train_loss,
                    value.objective,
                    value.entropy,
                    value.entropy if value.reward is None else value.reward,
                )
            )
            for value in values
        ]
        steps = []
        first = self.step_number - len(values) + 1
        for number, (row, value) in enumerate(
            zip(torch.stack(rows).tolist(), values, strict=True), first
        ):
            loss, objective, entropy, reward = row
            if not math.isfinite(objective):
                raise self.divergence(objective, number)
            is_learning = value.reward is not None
            steps.append(SearchStep(number, loss, reward if is_learning else None, entropy))
        return steps

    def entropy(self) -> Tensor:
        """Compute the mean entropy of the choices, shape (): 1 is uniform, 0 is certain."""
        log_share = self._weights().log_softmax(-1)
        largest = math.log(max(log_share.shape[-1], 2))
        return -(log_share.exp() * log_share).sum(-1).mean() / largest

    def to_spec(self, values: PolicyValues | None = None) -> PolicySpec:
        """Return the policy with some values, or as it is now.

        The shares of a mixture become probabilities of choosing.
        """
        return self.policy.to_spec(values=values)

    def state_dict(self) -> State:
        """Return what `load_state_dict` needs in another process."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"step_number": self.step_number} | parts

    def load_state_dict(self, state: State) -> None:
        """Restore a saved state; the following steps are the same bytes."""
        self.step_number = state["step_number"]
        for name, part in self._parts().items():
            restore_part(part, state[name])

    def _weights(self) -> Tensor:
        """Return the logits of the choices."""
        return self.policy.weight.detach()


def assign_gradients(loss: Tensor, parameters: Sequence[Tensor]) -> None:
    """Write the gradient of a scalar ``loss`` into ``parameters``, 0 where it has none.

    Parameters
    ----------
    loss : Tensor
        A number to be lowered.
    parameters : sequence of Tensor
        Parameters whose ``grad`` is set; those that the loss does not depend on get zeros.
    """
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
