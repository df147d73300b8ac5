"""What a policy is judged by: plain data that can be sent to a worker and called there."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda.policies.policy import Policy
from cadda.searchers.problem import SearchTask
from cadda.searchers.trials.protocol import Proposal, one_thread
from cadda.training import Trainer, TrainingSettings, predict_logits, train
from cadda.training.batched import train_stacked

__all__ = ["FoldJudge", "SegmentJudge", "TrainedFold", "TrainingJudge", "train_fold"]


@dataclass(frozen=True, eq=False)
class TrainingJudge:
    """Trains from scratch with a policy; the loss is that of the best epoch on validation windows.

    Every trial begins with the same weights and sees windows in the same order, so that only the
    policy differs.

    Parameters
    ----------
    task : SearchTask
        What to train on.
    settings : TrainingSettings
        How to train.
    """

    task: SearchTask
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
        task = self.task
        result = train(
            task.make_model(self.settings.seed).to(task.device),
            (task.x_train, task.y_train),
            (task.x_valid, task.y_valid),
            task.class_names,
            self.settings,
            policy=Policy(proposal.policy, task.pool),
        )
        return result.history[result.best_epoch - 1].valid_loss, None

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
        task, n_models = self.task, len(proposals)
        results = train_stacked(
            [task.make_model(self.settings.seed).to(task.device) for _ in range(n_models)],
            (task.x_train, task.y_train),
            (task.x_valid, task.y_valid),
            task.class_names,
            [self.settings] * n_models,
            [Policy(one.policy, task.pool) for one in proposals],
        )
        return [
            one if isinstance(one, Exception) else one.history[one.best_epoch - 1].valid_loss
            for one in results
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
    task: SearchTask, settings: TrainingSettings, held_out: Tensor, seed: int
) -> TrainedFold:
    """Train a model without augmentation on all training windows but some.

    Parameters
    ----------
    task : SearchTask
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
    kept = torch.ones(len(task.x_train), dtype=torch.bool)
    kept[held_out] = False
    with one_thread():
        result = train(
            task.make_model(seed).to(task.device),
            (task.x_train[kept], task.y_train[kept]),
            (task.x_valid, task.y_valid),
            task.class_names,
            replace(settings, seed=seed),
        )
    weights = {name: value.cpu() for name, value in result.model.state_dict().items()}
    return TrainedFold(weights, held_out)


@dataclass(frozen=True, eq=False)
class FoldJudge:
    """Has models that never saw augmentation look at augmented windows that they never saw.

    The same random numbers augment the windows in every trial, so that equal policies get equal
    losses.

    Parameters
    ----------
    task : SearchTask
        Windows to augment.
    folds : tuple of TrainedFold
        The models.
    seed : int
        Seed of the augmentation.
    """

    task: SearchTask
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
        task, total, count = self.task, 0.0, 0
        policy = Policy(proposal.policy, task.pool)
        model = task.make_model(0).to(task.device)
        for number, fold in enumerate(self.folds):
            model.load_state_dict(fold.weights)
            x, y = task.training_batch(fold.held_out)
            draws = Seeds(self.seed).stream("held-out windows", device=task.device, fold=number)
            augmented, _ = policy(x, y, generator=draws)
            logits = predict_logits(model, augmented, len(task.class_names))
            total += float(cross_entropy(logits, y.cpu(), reduction="sum"))
            count += len(y)
        return total / count, None


@dataclass(frozen=True, eq=False)
class SegmentJudge:
    """Trains on for some epochs with a policy; the loss is that of the last epoch on validation.

    Parameters
    ----------
    task : SearchTask
        What to train on.
    settings : TrainingSettings
        How to train.
    n_epochs : int
        How long.
    """

    task: SearchTask
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
        task, seed = self.task, proposal.seed or 0
        trainer = Trainer(
            task.make_model(seed).to(task.device),
            (task.x_train, task.y_train),
            (task.x_valid, task.y_valid),
            task.class_names,
            replace(self.settings, seed=seed),
            Policy(proposal.policy, task.pool),
        )
        if proposal.state is not None:
            trainer.restore(torch.load(io.BytesIO(proposal.state), weights_only=True))
        for _ in range(self.n_epochs):
            event = trainer.run_epoch()
        buffer = io.BytesIO()
        torch.save(trainer.state(), buffer)
        return event.valid_loss, buffer.getvalue()
