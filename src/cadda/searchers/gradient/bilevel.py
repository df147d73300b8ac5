"""ADDA, CADDA and DADA: a policy learned by the gradient of the validation loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.devices import is_asynchronous
from cadda._internal.random import Seeds, seeded
from cadda.exceptions import TrainingError
from cadda.policies.relaxed.base import RelaxedPolicy
from cadda.policies.relaxed.policies import EnumeratedPolicy, MixturePolicy, StagedPolicy
from cadda.searchers.gradient.base import Searcher, StepValues
from cadda.searchers.gradient.diagnostics import CONTROL_EVERY, ClassSums, white_noise
from cadda.searchers.gradient.policy_optimizer import PolicyAscent
from cadda.searchers.gradient.reward import (
    RewardDirection,
    Weights,
    loss_gradient,
    rewards_and_residuals,
    unrolled,
    weights_of,
)
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.training.checkpoint import State, Stateful
from cadda.training.problem import Problem
from cadda.training.step import compute_logits, descend

__all__ = ["BilevelSearcher", "make_policy"]


def make_policy(problem: Problem, settings: BilevelSettings, *, classwise: bool) -> RelaxedPolicy:
    """Make the untrained policy of a search: all operations equally likely, p = µ = 1/2."""
    # Keyword arguments, of types of their own, that the kinds of policies share.
    common: dict[str, Any] = {
        "class_names": problem.class_names if classwise else None,
        "n_stages": settings.n_stages,
        "granularity": settings.granularity,
        "gate_temperature": settings.gate_temperature,
        "choice_temperature": settings.choice_temperature,
    }
    if settings.sampling == "subpolicy":
        return EnumeratedPolicy(problem.pool, **common)
    kind = StagedPolicy if settings.sampling == "stage" else MixturePolicy
    return kind(problem.pool, n_subpolicies=settings.n_subpolicies, **common)


class BilevelSearcher(Searcher):
    """Learns a policy and a model together, a step at a time.

    The sampling of its settings makes it ADDA or DADA.
    """

    def __init__(self, problem: Problem, settings: BilevelSettings, *, classwise: bool) -> None:
        self.settings, self.seeds = settings, Seeds(settings.seed)
        policy = make_policy(problem, settings, classwise=classwise).to(problem.device)
        model = problem.new_model(self.seeds.integer("model"))
        super().__init__(
            problem,
            policy,
            model,
            batch_size=settings.batch_size,
            warmup_epochs=settings.warmup_epochs,
        )
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.model_lr, betas=settings.betas, foreach=True
        )
        self.ascent = PolicyAscent(
            self.policy,
            estimator=settings.estimator,
            lr=settings.policy_lr,
            control_lr=settings.control_lr,
            pooled=settings.pooled,
            seed=settings.seed,
        )
        self.direction: Weights = {}
        self.mean_weights = {name: value.clone() for name, value in weights_of(self.model).items()}

    def advance(self) -> StepValues:
        """Run one step: augment, train the model, compute rewards, update the policy."""
        self.step_number += 1
        learns = self.has_learned
        index = self._indices(
            "training batch", len(self.problem.train.x), self.settings.batch_size
        )
        x, y = self.problem.training_batch(index)
        with torch.set_grad_enabled(learns):
            # The policy checks labels, which a device would have to be waited for.
            known = self.problem.train.y[index]
            draw = self.policy.draw(x, known, generator=self._stream("draws"))
            is_pathwise = self.ascent.uses_relax or not learns
            transform = self.policy.transform_pathwise if is_pathwise else self.policy.transform
            augmented = transform(x, draw)
        assert draw.y is not None  # noqa: S101
        labels = draw.y.to(x.device)
        self._update_weight_average()
        loss, gradient = self._train_model(augmented.detach(), labels.detach())
        if not learns:
            return StepValues(loss, loss, self.entropy())
        rewards, baseline, sums = self._rewards(gradient, x, y, augmented, labels)
        self.ascent.ascend(rewards, baseline, draw, self._stream("conditional"))
        gain = (rewards.detach() - baseline).mean()
        return StepValues(loss, loss, self.entropy(), gain, sums)

    def divergence(self, value: float, step: int) -> TrainingError:
        return TrainingError(
            f"the loss of the model became {value} in step {step} of the search; try a smaller "
            "`model_lr`, or another model."
        )

    def state_dict(self) -> State:
        means = {"direction": self.direction, "mean_weights": self.mean_weights}
        return super().state_dict() | means

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.direction, self.mean_weights = (
            {key: value.to(self.problem.device) for key, value in state[name].items()}
            for name in ("direction", "mean_weights")
        )

    def _parts(self) -> dict[str, Stateful]:
        return {
            "model": self.model,
            "policy": self.policy,
            "optimizer": self.optimizer,
            "ascent": self.ascent,
        }

    def _train_model(self, x: Tensor, y: Tensor) -> tuple[Tensor, Weights]:
        """Train the model for one step; return the loss and the gradient."""
        self.model.train()
        with seeded(self._seed("inner"), x.device):
            logits = compute_logits(self.model, x, self.problem.n_classes, differentiable=True)
            loss = cross_entropy(logits, y)
        descend(self.optimizer, loss)
        gradient = {
            name: torch.zeros_like(value) if value.grad is None else value.grad
            for name, value in self.model.named_parameters()
        }
        return loss.detach(), gradient

    def _update_weight_average(self) -> None:
        """Update the running mean of the weights."""
        # Before it has its full length, the running mean is a plain mean.
        length = min(self.step_number, self.settings.smoothing * self.steps_per_epoch)
        weights = weights_of(self.model)
        means = [self.mean_weights[name] for name in weights]
        torch._foreach_lerp_(means, list(weights.values()), 1 / max(1.0, length))

    def _rewards(
        self, gradient: Weights, x: Tensor, y: Tensor, augmented: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor, ClassSums | None]:
        """Compute the rewards of augmented windows with their labels, and of the same unchanged.

        If they are paired, there are sums by class, too.
        """
        self.model.train(not self.settings.smoothing)
        self._update_direction(gradient, augmented.detach(), labels.detach())

        way = RewardDirection(self.mean_weights, self.direction, self.settings.hypergradient)
        noise_seed = self._seed("inner")

        def rewards_of(windows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
            return rewards_and_residuals(self.model, way, windows, labels, noise_seed=noise_seed)

        rewards, after = rewards_of(augmented, labels)
        if not self.settings.paired:
            return rewards, torch.zeros_like(rewards.detach()), None
        baseline, before = rewards.detach().clone(), after.clone()
        # Windows that no operation changed have their reward already, unless it depends on the
        # others through BatchNorm, or on their position through dropout masks. How many there are
        # would have to be waited for on a GPU, where a few more windows cost nothing.
        needs_all = self.model.training or is_asynchronous(x.device)
        changed = slice(None) if needs_all else _changed(x, y, augmented.detach(), labels)
        controls = None
        with torch.no_grad():
            if len(y[changed]):
                baseline[changed], before[changed] = rewards_of(x[changed], y[changed])
            if self.step_number % CONTROL_EVERY == 0:
                controls, _ = rewards_of(white_noise(x, self._stream("controls")), y)
        sums = ClassSums.of_step(
            y,
            self.problem.n_classes,
            rewards=rewards,
            unchanged=baseline,
            residuals=(before, after),
            controls=controls,
        )
        return rewards, baseline, sums

    def _update_direction(self, gradient: Weights, augmented: Tensor, y: Tensor) -> None:
        """Update the direction of the validation gradient with another validation batch."""
        settings, weights = self.settings, self.mean_weights
        if not settings.reuse_inner_gradient:
            _, gradient = loss_gradient(
                self.model, weights, augmented, y, noise_seed=self._seed("inner")
            )
        valid = self.problem.validation_batch(
            self._indices("validation batch", len(self.problem.valid.x), settings.n_valid)
        )
        _, fresh = loss_gradient(
            self.model,
            unrolled(weights, gradient, settings.unroll_lr),
            *valid,
            noise_seed=self._seed("valid"),
            confidence=settings.confidence,
        )
        before = self.direction or fresh
        self.direction = {
            name: torch.lerp(value, before[name], settings.valid_memory)
            for name, value in fresh.items()
        }

    def _indices(self, name: str, n: int, size: int) -> Tensor:
        return torch.randperm(n, generator=self.seeds.stream(name, step=self.step_number))[:size]

    def _stream(self, name: str) -> torch.Generator:
        return self.seeds.stream(name, device=self.problem.device, step=self.step_number)

    def _seed(self, name: str) -> int:
        return self.seeds.integer(name, step=self.step_number)


def _changed(x: Tensor, y: Tensor, augmented: Tensor, labels: Tensor) -> Tensor:
    """Return the indices of the windows that changed, or whose labels did.

    Labels after augmentation may be shares of the classes.
    """
    is_kept = labels == y if labels.ndim == 1 else labels.gather(1, y[:, None])[:, 0] == 1
    is_alike = (augmented == x).flatten(1).all(1) & is_kept
    return (~is_alike).nonzero().squeeze(1)
