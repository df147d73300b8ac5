"""Runs a search: epochs, retrainings from scratch in between, checkpoints, events."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda.policies.policy import Policy
from cadda.policies.spec import PolicySpec
from cadda.policies.summary import summarise
from cadda.searchers.base import Searcher
from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, SearchEvent, SearchStep
from cadda.searchers.hints import hints_of
from cadda.searchers.task import SearchTask
from cadda.training import (
    EpochEnd,
    TrainingEvent,
    TrainingSettings,
    predict_logits,
    score,
    train,
)
from cadda.training.checkpoint import load_checkpoint, save_checkpoint

__all__ = ["Plan", "SearchDriver", "Trained"]


@dataclass(frozen=True)
class Plan:
    """How long to search, and when to train from scratch with the policy found so far.

    Parameters
    ----------
    n_epochs : int
        Passes through the training windows.
    max_seconds : float | None
        Time after which no epoch is begun; None knows no hurry. Retrainings do not count.
    retrain_at : tuple of int
        Epochs after which to retrain; 0 trains without augmentation, for comparison. The policy of
        the retraining with the lowest validation loss is the result.
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
        Epoch of the search that its policy is from; 0 is without augmentation.
    policy : PolicySpec | None
        The policy.
    weights : dict of str to Tensor
        State of the model.
    history : list of EpochEnd
        Its epochs.
    best_epoch : int
        Epoch of the weights.
    """

    epoch: int
    policy: PolicySpec | None
    weights: dict[str, Tensor]
    history: list[EpochEnd]
    best_epoch: int

    @property
    def valid_loss(self) -> float:
        """Loss on the validation windows."""
        return self.history[self.best_epoch - 1].valid_loss


class SearchDriver:
    """Searches as a plan says; can be killed at any moment and goes on to the same result.

    Parameters
    ----------
    task : SearchTask
        What to search on.
    searcher : Searcher
        How to search.
    plan : Plan
        How long, and what else.
    folder : Path | None
        Where to keep checkpoints; None keeps none.
    on_event : callable
        Called with every event of the search.
    on_training : callable
        Called with every event of a retraining.
    """

    def __init__(
        self,
        task: SearchTask,
        searcher: Searcher,
        plan: Plan,
        *,
        folder: Path | None = None,
        on_event: Callable[[SearchEvent], None] = lambda event: None,
        on_training: Callable[[TrainingEvent], None] = lambda event: None,
    ) -> None:
        self.task, self.searcher, self.plan, self.folder = task, searcher, plan, folder
        self.on_event, self.on_training = on_event, on_training
        self.epoch, self.seconds = 0, 0.0
        self.history: list[SearchEpoch | Retrained] = []
        self.trained: dict[int, Trained] = {}
        if self._checkpoint is not None and self._checkpoint.exists():
            self._restore(load_checkpoint(self._checkpoint, self._fingerprint()))

    def run(self) -> None:
        """Search until the plan is fulfilled."""
        self._retrain_if_due()
        while self.epoch < self.plan.n_epochs and not self._is_late():
            self._report(self._search_epoch())
            self._save()
            self._retrain_if_due()
        best = self.best()
        self.on_event(
            SearchEnd(self.epoch, self.epoch if best is None else best.epoch, self.seconds)
        )

    def best(self) -> Trained | None:
        """Give the retraining whose policy is the result, if there was any.

        Returns
        -------
        Trained | None
            The one with the lowest validation loss; training without augmentation is not one.
        """
        return min(
            (one for epoch, one in self.trained.items() if epoch),
            key=lambda one: one.valid_loss,
            default=None,
        )

    def _is_late(self) -> bool:
        return self.plan.max_seconds is not None and self.seconds >= self.plan.max_seconds

    def _search_epoch(self) -> SearchEpoch:
        start = perf_counter()
        steps = list(islice(self.searcher.run(), self.searcher.steps_per_epoch))
        self.epoch += 1
        self.seconds += perf_counter() - start
        return self._summary(steps)

    def _summary(self, steps: list[SearchStep]) -> SearchEpoch:
        task, table = self.task, summarise(self.searcher.to_spec())
        logits = predict_logits(self.searcher.model, task.x_valid, len(task.class_names))
        rewards = [one.reward for one in steps if one.reward is not None]
        scores = score(task.y_valid, logits.argmax(1), task.class_names)
        return SearchEpoch(
            epoch=self.epoch,
            n_epochs=self.plan.n_epochs,
            train_loss=_mean([one.train_loss for one in steps]),
            valid_loss=cross_entropy(logits, task.y_valid).item(),
            valid_balanced_accuracy=scores.balanced_accuracy,
            reward=_mean(rewards) if rewards else None,
            entropy=steps[-1].entropy,
            **{
                name: tuple(tuple(row) for row in getattr(table, name).tolist())
                for name in ("applied", "share", "probability", "magnitude")
            },
            seconds=self.seconds,
            warnings=hints_of(table, steps),
        )

    def _retrain_if_due(self) -> None:
        ends = self.epoch >= self.plan.n_epochs or self._is_late()
        last = max(self.plan.retrain_at, default=-1)
        due = self.epoch in self.plan.retrain_at or (ends and last > self.epoch)
        if not due or self.epoch in self.trained:
            return
        start = perf_counter()
        trained = self._retrain()
        best = self.best()
        is_best = bool(self.epoch) and (best is None or trained.valid_loss < best.valid_loss)
        self.trained[self.epoch] = trained
        epoch = trained.history[trained.best_epoch - 1]
        self._report(
            Retrained(
                epoch=self.epoch,
                valid_loss=epoch.valid_loss,
                valid_balanced_accuracy=epoch.valid_balanced_accuracy,
                is_best=is_best,
                search_seconds=self.seconds,
                seconds=perf_counter() - start,
                train_losses=tuple(one.train_loss for one in trained.history),
                valid_losses=tuple(one.valid_loss for one in trained.history),
            )
        )
        self._save()
        if self._retraining_checkpoint is not None:
            self._retraining_checkpoint.unlink(missing_ok=True)

    def _retrain(self) -> Trained:
        task, plan = self.task, self.plan
        spec = self.searcher.to_spec() if self.epoch else None
        result = train(
            task.make_model(plan.training.seed).to(task.device),
            (task.x_train, task.y_train),
            (task.x_valid, task.y_valid),
            task.class_names,
            plan.training,
            policy=None if spec is None else Policy(spec, task.pool),
            on_event=self.on_training,
            checkpoint=self._retraining_checkpoint,
        )
        weights = {name: value.cpu() for name, value in result.model.state_dict().items()}
        return Trained(self.epoch, spec, weights, result.history, result.best_epoch)

    def _report(self, event: SearchEpoch | Retrained) -> None:
        self.history.append(event)
        self.on_event(event)

    @property
    def _checkpoint(self) -> Path | None:
        return None if self.folder is None else self.folder / "checkpoint.pt"

    @property
    def _retraining_checkpoint(self) -> Path | None:
        # Named after its epoch, so that one that was left behind is not taken for the next.
        return None if self.folder is None else self.folder / f"retraining-{self.epoch}.pt"

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "operations": list(self.task.pool.names),
            "class_names": list(self.task.class_names),
            "n_training_windows": len(self.task.x_train),
            "n_validation_windows": len(self.task.x_valid),
        }

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        trained = [
            {
                "epoch": one.epoch,
                "policy": None if one.policy is None else one.policy.to_json(),
                "weights": one.weights,
                "history": [asdict(event) for event in one.history],
                "best_epoch": one.best_epoch,
            }
            for one in self.trained.values()
        ]
        state = {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "searcher": self.searcher.state_dict(),
            "history": [(type(event).__name__, asdict(event)) for event in self.history],
            "trained": trained,
        }
        save_checkpoint(self._checkpoint, state, self._fingerprint())

    def _restore(self, state: dict[str, Any]) -> None:
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        self.searcher.load_state_dict(state["searcher"])
        kinds = {kind.__name__: kind for kind in (SearchEpoch, Retrained)}
        self.history = [kinds[name](**values) for name, values in state["history"]]
        for one in state["trained"]:
            policy = one["policy"]
            self.trained[one["epoch"]] = Trained(
                one["epoch"],
                None if policy is None else PolicySpec.from_dict(json.loads(policy), known=None),
                one["weights"],
                [EpochEnd(**event) for event in one["history"]],
                one["best_epoch"],
            )


def _mean(values: list[float]) -> float:
    return float(torch.tensor(values, dtype=torch.float64).mean())
