"""Training from scratch with the policies that a search finds on its way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from torch import Tensor

from cadda.policies.schedule import PolicySchedule, build_policy
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import Retrained
from cadda.searchers.problem import SearchTask
from cadda.training import EpochEnd, TrainingEvent, TrainingSettings, train

__all__ = ["Found", "Plan", "Retrainings", "Trained"]

Found = PolicySpec | PolicySchedule
"""What a search finds."""


@dataclass(frozen=True)
class Plan:
    """How long to search, and when to train from scratch with the policy found so far.

    Parameters
    ----------
    n_epochs : int
        Passes through the training windows, or trials.
    max_seconds : float | None
        Time after which no epoch or trial is begun; None knows no hurry. Retrainings do not count.
    retrain_at : tuple of int
        Epochs or trials after which to retrain; 0 trains without augmentation, for comparison. The
        policy of the retraining with the lowest validation loss is the result.
    training : TrainingSettings
        How to retrain: the same seed each time, so that only the policy differs.
    """

    n_epochs: int
    max_seconds: float | None = None
    retrain_at: tuple[int, ...] = ()
    training: TrainingSettings = field(default_factory=TrainingSettings)


@dataclass(frozen=True, eq=False)
class Trained:
    """A model trained from scratch during a search.

    Parameters
    ----------
    epoch : int
        Epoch or trial of the search that its policy is from; 0 is without augmentation.
    policy : PolicySpec | PolicySchedule | None
        The policy.
    weights : dict of str to Tensor
        State of the model.
    history : list of EpochEnd
        Its epochs.
    best_epoch : int
        Epoch of the weights.
    """

    epoch: int
    policy: Found | None
    weights: dict[str, Tensor]
    history: list[EpochEnd]
    best_epoch: int

    @property
    def valid_loss(self) -> float:
        """Loss on the validation windows."""
        return self.history[self.best_epoch - 1].valid_loss

    def to_dict(self) -> dict[str, Any]:
        """Give it as tensors and plain values.

        Returns
        -------
        dict
            To be saved.
        """
        return {
            "epoch": self.epoch,
            "policy": None if self.policy is None else self.policy.to_json(),
            "weights": self.weights,
            "history": [asdict(event) for event in self.history],
            "best_epoch": self.best_epoch,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trained:
        """Restore what was saved.

        Parameters
        ----------
        data : dict
            Result of `to_dict`.

        Returns
        -------
        Trained
            The same again.
        """
        policy: Found | None = None
        if data["policy"] is not None:
            content = json.loads(data["policy"])
            kind = PolicySchedule if "segments" in content else PolicySpec
            policy = kind.from_dict(content, known=None)
        history = [EpochEnd(**event) for event in data["history"]]
        return cls(data["epoch"], policy, data["weights"], history, data["best_epoch"])


class Retrainings:
    """Trains from scratch when a plan says so, and remembers what came of it.

    Parameters
    ----------
    task : SearchTask
        What to train on.
    plan : Plan
        When and how.
    folder : Path | None
        Where to keep the checkpoint of an unfinished training; None keeps none.
    on_training : callable
        Called with every event of a training.
    """

    def __init__(
        self,
        task: SearchTask,
        plan: Plan,
        folder: Path | None,
        on_training: Callable[[TrainingEvent], None],
    ) -> None:
        self.task, self.plan, self.folder, self.on_training = task, plan, folder, on_training
        self.done: dict[int, Trained] = {}

    def is_due(self, epoch: int, *, ends: bool) -> bool:
        """Say whether to retrain now.

        Parameters
        ----------
        epoch : int
            Epochs or trials done.
        ends : bool
            Whether the search ends here.

        Returns
        -------
        bool
            Whether the plan wants it and it was not done yet.
        """
        last = max(self.plan.retrain_at, default=-1)
        due = epoch in self.plan.retrain_at or (ends and last > epoch)
        return due and epoch not in self.done

    def best(self) -> Trained | None:
        """Give the retraining whose policy is the result, if there was any.

        Returns
        -------
        Trained | None
            The one with the lowest validation loss; training without augmentation is not one.
        """
        return min(
            (one for epoch, one in self.done.items() if epoch),
            key=lambda one: one.valid_loss,
            default=None,
        )

    def run(self, epoch: int, policy: Found | None, search_seconds: float) -> Retrained:
        """Train from scratch.

        Parameters
        ----------
        epoch : int
            Epochs or trials done.
        policy : PolicySpec | PolicySchedule | None
            What to augment with; the same as before gives the same model, and is not trained
            again.
        search_seconds : float
            Time spent on searching so far.

        Returns
        -------
        Retrained
            What came of it.
        """
        start = perf_counter()
        trained = self._trained(epoch, policy)
        best = self.best()
        is_best = bool(epoch) and (best is None or trained.valid_loss < best.valid_loss)
        self.done[epoch] = trained
        last = trained.history[trained.best_epoch - 1]
        return Retrained(
            epoch=epoch,
            valid_loss=last.valid_loss,
            valid_balanced_accuracy=last.valid_balanced_accuracy,
            is_best=is_best,
            search_seconds=search_seconds,
            seconds=perf_counter() - start,
            train_losses=tuple(one.train_loss for one in trained.history),
            valid_losses=tuple(one.valid_loss for one in trained.history),
        )

    def forget_checkpoint(self, epoch: int) -> None:
        """Remove the checkpoint of a training that is done and saved.

        Parameters
        ----------
        epoch : int
            Epochs or trials done.
        """
        path = self._checkpoint(epoch)
        if path is not None:
            path.unlink(missing_ok=True)

    def _trained(self, epoch: int, policy: Found | None) -> Trained:
        for one in self.done.values():
            if one.policy == policy:
                return Trained(epoch, policy, one.weights, one.history, one.best_epoch)
        task, settings = self.task, self.plan.training
        result = train(
            task.make_model(settings.seed).to(task.device),
            (task.x_train, task.y_train),
            (task.x_valid, task.y_valid),
            task.class_names,
            settings,
            policy=None if policy is None else build_policy(policy, task.pool),
            on_event=self.on_training,
            checkpoint=self._checkpoint(epoch),
        )
        weights = {name: value.cpu() for name, value in result.model.state_dict().items()}
        return Trained(epoch, policy, weights, result.history, result.best_epoch)

    def _checkpoint(self, epoch: int) -> Path | None:
        # Named after its epoch, so that one that was left behind is not taken for the next.
        return None if self.folder is None else self.folder / f"retraining-{epoch}.pt"
