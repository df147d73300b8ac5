"""What a policy is judged by: plain data that can be sent to a worker and called there."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda.policies.policy import Policy
from cadda.searchers.trials.protocol import Proposal, one_thread
from cadda.training import Trainer, TrainingSettings, predict_logits, train
from cadda.training.batched import train_stacked
from cadda.training.problem import Problem

__all__ = ["FoldJudge", "SegmentJudge", "TrainedFold", "TrainingJudge", "train_fold"]


@dataclass(frozen=True, eq=False)
class TrainingJudge:
    """Trains from scratch with a policy; the loss is that of the best epoch on validation windows.

    Every trial begins with the same weights and sees windows in the same order, so that only the
    policy differs.

    Parameters
    ----------
    problem : Problem
        What to train on.
    settings : TrainingSettings
        How to train.
    """

    problem: Problem
    settings: TrainingSettings

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Judge one policy.

        Parameters
        ----------
        proposal : Proposal
            The policy.

        Returns
        -------
        loss : float
            Validation loss.
        state : None
            Nothing to go on from.
        """
        policy = Policy(proposal.policy, self.problem.pool)
        return train(self.problem, self.settings, policy=policy).best.valid_loss, None

    def together(self, proposals: list[Proposal]) -> list[float | Exception]:
        """Judge several policies by trainings that are stepped together.

        Parameters
        ----------
        proposals : list of Proposal
            The policies.

        Returns
        -------
        list of float and Exception
            Validation loss of each, or why there is none.
        """
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
class TrainedFold:
    """A model trained without augmentation, and the windows that it has not seen.

    Parameters
    ----------
    weights : dict of str to Tensor
        State of the model.
    held_out : Tensor
        Indices of training windows that were held out.
    """

    weights: dict[str, Tensor]
    held_out: Tensor


def train_fold(
    problem: Problem, settings: TrainingSettings, held_out: Tensor, seed: int
) -> TrainedFold:
    """Train a model without augmentation on all training windows but some.

    Parameters
    ----------
    problem : Problem
        What to train on. Validation windows tell when to stop.
    settings : TrainingSettings
        How to train.
    held_out : Tensor
        Indices of the training windows to leave out.
    seed : int
        Seed of weights and training.

    Returns
    -------
    TrainedFold
        The model.
    """
    kept = replace(problem, train=problem.train.without(held_out))
    with one_thread():
        fitted = train(kept, replace(settings, seed=seed))
    weights = {name: value.cpu() for name, value in fitted.model.state_dict().items()}
    return TrainedFold(weights, held_out)


@dataclass(frozen=True, eq=False)
class FoldJudge:
    """Has models that never saw augmentation look at augmented windows that they never saw.

    The same random numbers augment the windows in every trial, so that equal policies get equal
    losses.

    Parameters
    ----------
    problem : Problem
        Windows to augment.
    folds : tuple of TrainedFold
        The models.
    seed : int
        Seed of the augmentation.
    """

    problem: Problem
    folds: tuple[TrainedFold, ...]
    seed: int

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Judge one policy.

        Parameters
        ----------
        proposal : Proposal
            The policy.

        Returns
        -------
        loss : float
            Mean cross entropy over all held-out windows.
        state : None
            Nothing to go on from.
        """
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
class SegmentJudge:
    """Trains on for some epochs with a policy; the loss is that of the last epoch on validation.

    Parameters
    ----------
    problem : Problem
        What to train on.
    settings : TrainingSettings
        How to train.
    n_epochs : int
        How long.
    """

    problem: Problem
    settings: TrainingSettings
    n_epochs: int

    def __call__(self, proposal: Proposal) -> tuple[float, bytes]:
        """Judge one policy.

        Parameters
        ----------
        proposal : Proposal
            The policy, and what training goes on from.

        Returns
        -------
        loss : float
            Validation loss.
        state : bytes
            What training can go on from.
        """
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
