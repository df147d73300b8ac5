"""How a policy is evaluated: plain data that can be sent to a worker and called there."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda.policies.policy import Policy
from cadda.searchers.trials.protocol import Proposal, one_thread
from cadda.training import Problem, Trainer, TrainingSettings, predict_logits, train
from cadda.training.batched import train_stacked

__all__ = [
    "ContinuationEvaluator",
    "FoldModel",
    "HeldOutEvaluator",
    "TrainingEvaluator",
    "train_fold",
]


@dataclass(frozen=True, eq=False)
class TrainingEvaluator:
    """Trains from scratch with a policy; the loss is that of the best epoch on validation.

    Every trial starts with the same weights and order of windows, so that only the policy differs.
    """

    problem: Problem
    settings: TrainingSettings

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Evaluate one policy."""
        policy = Policy(proposal.policy, self.problem.pool)
        return train(self.problem, self.settings, policy=policy).best.valid_loss, None

    def evaluate_stack(self, proposals: list[Proposal]) -> list[float | Exception]:
        """Evaluate several policies with models that are trained together."""
        results = train_stacked(
            self.problem,
            [self.settings] * len(proposals),
            [Policy(proposal.policy, self.problem.pool) for proposal in proposals],
        )
        return [
            result if isinstance(result, Exception) else result.best.valid_loss
            for result in results
        ]


@dataclass(frozen=True, eq=False)
class FoldModel:
    """Weights of a model trained without augmentation, and the windows that it has not seen."""

    weights: dict[str, Tensor]
    held_out: Tensor  # indices of training windows


def train_fold(
    problem: Problem, settings: TrainingSettings, held_out: Tensor, seed: int
) -> FoldModel:
    """Train a model without augmentation on all training windows but those held out.

    Validation windows decide when to stop.
    """
    kept = replace(problem, train=problem.train.without(held_out))
    with one_thread():
        fitted = train(kept, replace(settings, seed=seed))
    weights = {name: value.cpu() for name, value in fitted.model.state_dict().items()}
    return FoldModel(weights, held_out)


@dataclass(frozen=True, eq=False)
class HeldOutEvaluator:
    """Mean cross entropy of augmented held-out windows, of models trained without augmentation.

    The same random numbers augment the windows in every trial, so that equal policies get equal
    losses.
    """

    problem: Problem
    folds: tuple[FoldModel, ...]
    seed: int

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Evaluate one policy."""
        problem, total, count = self.problem, 0.0, 0
        policy = Policy(proposal.policy, problem.pool)
        model = problem.new_model(0)
        for number, fold in enumerate(self.folds):
            model.load_state_dict(fold.weights)
            x, y = problem.training_batch(fold.held_out)
            draws = Seeds(self.seed).stream("held-out windows", device=problem.device, fold=number)
            augmented, _ = policy(x, y, generator=draws)
            logits = predict_logits(model, augmented, problem.n_classes)
            total += float(cross_entropy(logits, y.cpu(), reduction="sum"))
            count += len(y)
        return total / count, None


@dataclass(frozen=True, eq=False)
class ContinuationEvaluator:
    """Continues training for some epochs with a policy; the loss is that of the last epoch."""

    problem: Problem
    settings: TrainingSettings
    n_epochs: int

    def __call__(self, proposal: Proposal) -> tuple[float, bytes]:
        """Evaluate one policy, and return the state that training can continue from."""
        problem, seed = self.problem, proposal.seed or 0
        trainer = Trainer(
            problem, replace(self.settings, seed=seed), Policy(proposal.policy, problem.pool)
        )
        if proposal.state is not None:
            trainer.restore(torch.load(io.BytesIO(proposal.state), weights_only=True))
        for _ in range(self.n_epochs):
            event = trainer.run_epoch()
        buffer = io.BytesIO()
        torch.save(trainer.state(), buffer)
        return event.valid_loss, buffer.getvalue()
