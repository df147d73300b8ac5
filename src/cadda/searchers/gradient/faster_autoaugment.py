r"""Faster AutoAugment: a policy whose windows a critic cannot distinguish from real windows.

The critic D is that of a Wasserstein GAN with gradient penalty, and classifies besides. With x
real, :math:`\tilde x = T_\alpha(x')` augmented and :math:`\hat x` between the two,

.. math::

    L_D &= \overline{D(\tilde x)} - \overline{D(x)}
           + \kappa \, \overline{(\sqrt d \, \|\nabla_{\hat x} D(\hat x)\|_2 - 1)^2}
           + \lambda \, \mathrm{CE}(x, y), \\
    L_\alpha &= -\overline{D(\tilde x)} + \lambda \, \mathrm{CE}(\tilde x, y').

The norm is over all d values of a window; public implementations of the method take it over
channels only. With :math:`\sqrt d`, windows are as far apart as the root mean square of their
difference, so that D is in the unit of the signal: without it, D grows with the length of the
windows, and for 30 s of EEG it dominates the classification loss.

**Pairs of one class.** Each augmented window is compared with another real window of its class.
The two halves of a batch then never differ in their numbers of windows per class, and :math:`\hat
x` has a class too. A class-wise policy gets a critic that knows it, :math:`D(x, y)`: the policy of
a class must match the windows *of that class*. Without this, an operation that turns one class
into another would look harmless, since the windows that it makes do exist. There is one critic for
all classes, with a term for each: what a real window looks like is learned from all of them, even
where a class has few.

**One operation per stage.** A stage is the weighted mean of all operations, and the mean of unlike
windows is smaller than any of them. A critic sees that first. From equal weights, operations that
make windows unlike the given one, such as time reverse, sign flip or FT surrogate, therefore lose
their share even where what they make is real. So the weights start at random in [0, 1] and η is
small, as in the published code: from its start, each stage is nearly one operation. All classes
start alike, so that the start tells nothing about the class.

**Label maps.** A blend with an operation that changes the class has no class whose real windows
it could be compared with, so operations with label maps are left out.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds, uniform
from cadda._internal.validation import (
    Count,
    NonNegative,
    Positive,
    Seed,
    StageCount,
    SubpolicyCount,
    validated_dataclass,
)
from cadda.exceptions import TrainingError
from cadda.policies.dispatch import Granularity, per_window
from cadda.policies.relaxed.policies import MixturePolicy
from cadda.policies.spec.leakage import MAX_LEAK
from cadda.searchers.gradient.base import Searcher, StepValues, assign_gradients
from cadda.searchers.gradient.critic_loss import gradient_penalty, partners
from cadda.training.checkpoint import Stateful
from cadda.training.problem import Problem
from cadda.training.step import descend

__all__ = ["FasterSearcher", "FasterSettings", "start_randomly"]

BETAS = (0.0, 0.999)
"""Decay rates of Adam for critic and policy, as in the paper and usual for Wasserstein GANs."""

SIGMOID_SLOPE = 0.25
"""Largest slope of the sigmoid: p and µ are sigmoids of the parameters that are learned."""


@validated_dataclass
class FasterSettings:
    """How to search.

    Parameters
    ----------
    batch_size : int
        Windows to augment per step, and as many real windows.
    policy_lr : float
        Learning rate of Adam on the policy: on the weights w, and on p and µ at 1/2.
    critic_lr : float
        Learning rate of Adam on the critic.
    penalty : float
        Weight κ of the gradient penalty.
    classification : float
        Weight λ of the classification losses.
    critic_steps : int
        Steps of the critic for each one of the policy.
    warmup_epochs : int
        Epochs before the policy starts to move: first the critic must have learned something.
    n_subpolicies : int
        Number L of subpolicies. Their stages start with operations drawn at random, so few
        subpolicies try few operations.
    n_stages : int
        Number K of stages in a subpolicy.
    granularity : 'window' | 'batch'
        What draws a subpolicy of its own; see `RelaxedPolicy`.
    gate_temperature : float
        Temperature of the relaxed Bernoulli variable behind p.
    choice_temperature : float
        Temperature η of the softmax that mixes operations: the smaller it is, the more a stage is
        one of them.
    max_leak : float | None
        Largest number of bits that an operation of the policy may tell about the class: see
        `PolicySpec.capped`. None for no limit.
    n_seeds : int
        How often to search, with different seeds; the policy is the mean over them.
    seed : int
        Decides everything that is random.
    """

    batch_size: Count = 16
    policy_lr: Positive = 1e-3
    critic_lr: Positive = 1e-3
    penalty: NonNegative = 10.0
    classification: NonNegative = 0.1
    critic_steps: Count = 1
    warmup_epochs: Annotated[int, Field(ge=0)] = 2
    n_subpolicies: SubpolicyCount = 10
    n_stages: StageCount = 2
    granularity: Granularity = "window"
    gate_temperature: Positive = 0.1
    choice_temperature: Positive = 0.05
    max_leak: Positive | None = MAX_LEAK
    n_seeds: Count = 1
    seed: Seed = 0


class FasterSearcher(Searcher):
    """Learns a policy and a critic together, a step at a time.

    In each `SearchStep`, ``reward`` is the mean critic score of augmented windows minus that of
    real windows, 0 if the critic cannot distinguish them; ``train_loss`` is its cross entropy on
    real windows.

    ``make_critic`` of the problem makes, from a seed, a module without randomness of its own that
    maps windows, and labels if class-wise, to logits of the classes and one critic score per
    window. Validation windows are not used.
    """

    uses_validation = False

    def __init__(self, problem: Problem, settings: FasterSettings, *, classwise: bool) -> None:
        self.settings, self.classwise = settings, classwise
        self.seeds = Seeds(settings.seed)
        policy = MixturePolicy(
            problem.pool,
            class_names=problem.class_names if classwise else None,
            n_subpolicies=settings.n_subpolicies,
            n_stages=settings.n_stages,
            granularity=settings.granularity,
            gate_temperature=settings.gate_temperature,
            choice_temperature=settings.choice_temperature,
        ).to(problem.device)
        start_randomly(policy, self.seeds.stream("start"))
        self.critic = problem.make_critic(self.seeds.integer("critic")).to(problem.device)
        super().__init__(
            problem,
            policy,
            Classifier(self.critic),
            batch_size=settings.batch_size,
            warmup_epochs=settings.warmup_epochs,
        )
        groups: list[dict[str, Any]] = [
            {"params": [policy.weight]},
            {
                "params": [policy.probability_logit, policy.magnitude_logit],
                "lr": settings.policy_lr / SIGMOID_SLOPE,
            },
        ]
        self.policy_optimizer = torch.optim.Adam(groups, lr=settings.policy_lr, betas=BETAS)
        self.critic_optimizer = torch.optim.Adam(
            self.critic.parameters(), lr=settings.critic_lr, betas=BETAS
        )

    def advance(self) -> StepValues:
        """Run one step: train the critic, once or more often, and then update the policy.

        Numbers are those of the last batch, before the critic learned from it.
        """
        self.step_number += 1
        learns = self.has_learned
        last = self.settings.critic_steps - 1
        for turn in range(last + 1):
            real, x, y, known = self._batches(turn)
            with torch.set_grad_enabled(learns and turn == last):
                draws = self._stream("draws", turn, self.problem.device)
                augmented, _ = self.policy(x, known, generator=draws)
            loss, reward, total = self._train_critic(real, augmented.detach(), y, turn)
        if learns:
            self._update_policy(augmented, y)
        return StepValues(loss, total, self.entropy(), reward)

    def divergence(self, value: float, step: int) -> TrainingError:
        return TrainingError(
            f"the loss of the critic became {value} in step {step} of the search; try a smaller "
            "`critic_lr`, or standardise the windows."
        )

    def _weights(self) -> Tensor:
        return super()._weights() / self.settings.choice_temperature

    def _parts(self) -> dict[str, Stateful]:
        return {
            "policy": self.policy,
            "critic": self.critic,
            "policy_optimizer": self.policy_optimizer,
            "critic_optimizer": self.critic_optimizer,
        }

    def _batches(self, turn: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Draw real windows, windows to augment, and the labels of both, also as they are known.

        The policy checks labels, which a device would have to be waited for.
        """
        order = self._stream("training batch", turn)
        index = torch.randperm(len(self.problem.train.x), generator=order)[
            : self.settings.batch_size
        ]
        x, y = self.problem.training_batch(index)
        labels = self.problem.train.y
        partner = partners(labels, index, self._stream("partners", turn))
        return self.problem.training_batch(partner)[0], x, y, labels[index]

    def _train_critic(
        self, real: Tensor, augmented: Tensor, y: Tensor, turn: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Train the critic for one step.

        Returns its cross entropy, D(augmented) − D(real), and the loss that it lowers.
        """
        logits, score = self._score(torch.cat([real, augmented]), y.repeat(2))
        n_real = len(real)
        loss = cross_entropy(logits[:n_real], y)
        difference = score[n_real:].mean() - score[:n_real].mean()
        share = per_window(uniform(y.shape, real, self._stream("segments", turn)), real)
        root = math.sqrt(real[0].numel())
        penalty = gradient_penalty(
            lambda between: root * self._score(between, y)[1],
            torch.lerp(real, augmented, share),
        )
        total = difference + self.settings.penalty * penalty + self.settings.classification * loss
        descend(self.critic_optimizer, total)
        return loss.detach(), difference.detach(), total.detach()

    def _update_policy(self, augmented: Tensor, y: Tensor) -> None:
        """Make augmented windows look more real, and more like their classes."""
        logits, score = self._score(augmented, y)
        loss = self.settings.classification * cross_entropy(logits, y) - score.mean()
        assign_gradients(loss, list(self.policy.parameters()))
        self.policy_optimizer.step()

    def _score(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and critic scores, the latter by class if the policy is class-wise."""
        logits, score = self.critic(x, y) if self.classwise else self.critic(x)
        return logits, score

    def _stream(self, name: str, turn: int, device: torch.device | str = "cpu") -> torch.Generator:
        return self.seeds.stream(name, device=device, step=self.step_number, turn=turn)


@torch.no_grad()
def start_randomly(policy: MixturePolicy, generator: torch.Generator) -> None:
    """Draw the weights of all choices from [0, 1], the same for all classes.

    Parameters
    ----------
    policy : MixturePolicy
        The policy, whose weights are overwritten.
    generator : torch.Generator
        Source of randomness, on the CPU.
    """
    policy.weight.copy_(torch.rand(policy.weight.shape[1:], generator=generator))


class Classifier(nn.Module):
    """A critic as a model, which only classifies; the critic is shared, not copied."""

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
