"""What all searches by gradients share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from cadda.policies.relaxed.base import RelaxedPolicy
from cadda.policies.relaxed.values import PolicyValues
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import SearchStep
from cadda.searchers.gradient.diagnostics import ClassSums
from cadda.training.checkpoint import State, Stateful
from cadda.training.problem import Problem
from cadda.training.step import restore_part

__all__ = ["Searcher", "assign_gradients"]


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
        self.class_sums: ClassSums | None = None  # rewards of the last step, if it had any

    @property
    def has_learned(self) -> bool:
        """Whether the policy has changed: whether the warm-up was over in the last step."""
        return self.step_number > self.n_warmup

    @abstractmethod
    def step(self) -> SearchStep:
        """Run one step."""

    @abstractmethod
    def _parts(self) -> dict[str, Stateful]:
        """Return what has a state of its own, by name."""

    def run(self) -> Iterator[SearchStep]:
        """Run steps without end."""
        while True:
            yield self.step()

    def entropy(self) -> float:
        """Return the mean entropy of the choices: 1 is uniform, 0 is certain."""
        log_share = self._weights().log_softmax(-1)
        largest = math.log(max(log_share.shape[-1], 2))
        return float(-(log_share.exp() * log_share).sum(-1).mean() / largest)

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
