"""Runs a search: epochs or trials, retrainings from scratch in between, checkpoints, events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from cadda.searchers.events import (
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchEvent,
    SearchStep,
    TrialEnd,
)
from cadda.searchers.gradient.base import Searcher
from cadda.searchers.retraining import Found, Plan, Retraining, Retrainings
from cadda.searchers.tables import tables_of
from cadda.searchers.warnings import hints_of
from cadda.training import TrainingEvent, predict_logits, score
from cadda.training.checkpoint import load_checkpoint, save_checkpoint
from cadda.training.problem import Problem

__all__ = ["Driver", "SearchDriver"]


class Driver(ABC):
    """Searches as a plan says; can be killed at any moment and goes on to the same result.

    Parameters
    ----------
    problem : Problem
        What to search on.
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
        problem: Problem,
        plan: Plan,
        *,
        folder: Path | None = None,
        on_event: Callable[[SearchEvent], None] = lambda event: None,
        on_training: Callable[[TrainingEvent], None] = lambda event: None,
    ) -> None:
        self.problem, self.plan, self.on_event = problem, plan, on_event
        self.retrainings = Retrainings(problem, plan, folder, on_training)
        self.epoch, self.seconds = 0, 0.0
        self.history: list[SearchEpoch | TrialEnd | Retrained] = []
        self._checkpoint = None if folder is None else folder / "checkpoint.pt"

    @property
    def n_epochs(self) -> int:
        """How many epochs or trials there will be."""
        return self.plan.n_epochs

    @abstractmethod
    def found(self) -> Found:
        """Give what was found so far.

        Returns
        -------
        PolicySpec | PolicySchedule
            Plain data.
        """

    @abstractmethod
    def advance(self) -> SearchEpoch | TrialEnd:
        """Do the next epoch or trial.

        Returns
        -------
        SearchEpoch | TrialEnd
            What came of it.
        """

    def best_epoch(self) -> int:
        """Say where the policy found so far is from.

        Returns
        -------
        int
            Number of the epoch or trial.
        """
        return self.epoch

    def run(self) -> None:
        """Search until the plan is fulfilled."""
        self._retrain_if_due()
        while not self._ends():
            self._report(self.advance())
            self._retrain_if_due()
        best = self.retrainings.best()
        last = self.best_epoch() if best is None else best.epoch
        self.on_event(SearchEnd(self.epoch, last, self.seconds))

    def state(self) -> dict[str, Any]:
        """Give what a driver of this kind must remember beside what all do.

        Returns
        -------
        dict
            Tensors and plain values.
        """
        return {}

    def restore(self) -> dict[str, Any]:
        """Go on from the checkpoint, if there is one.

        Returns
        -------
        dict
            What `state` gave; empty if there is no checkpoint.
        """
        if self._checkpoint is None or not self._checkpoint.exists():
            return {}
        saved = load_checkpoint(self._checkpoint, self._fingerprint())
        self.epoch, self.seconds = saved["epoch"], saved["seconds"]
        kinds = {kind.__name__: kind for kind in (SearchEpoch, TrialEnd, Retrained)}
        self.history = [kinds[name](**values) for name, values in saved["history"]]
        for state in saved["retrainings"]:
            retraining = Retraining.from_state(state, self.problem)
            self.retrainings.done[retraining.epoch] = retraining
        return saved

    def _ends(self) -> bool:
        late = self.plan.max_seconds is not None and self.seconds >= self.plan.max_seconds
        return self.epoch >= self.n_epochs or late

    def _retrain_if_due(self) -> None:
        if not self.retrainings.is_due(self.epoch, ends=self._ends()):
            return
        policy = self.found() if self.epoch else None
        self._report(self.retrainings.run(self.epoch, policy, self.seconds))
        self.retrainings.forget_checkpoint(self.epoch)

    def _report(self, event: SearchEpoch | TrialEnd | Retrained) -> None:
        self.history.append(event)
        # First, so that what was told of is never done again.
        self._save()
        self.on_event(event)

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "operations": list(self.problem.pool.names),
            "class_names": list(self.problem.class_names),
            "data": self.problem.data_digest[:16],
        }

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        state = self.state() | {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "history": [(type(event).__name__, asdict(event)) for event in self.history],
            "retrainings": [done.state_dict() for done in self.retrainings.done.values()],
        }
        save_checkpoint(self._checkpoint, state, self._fingerprint())


class SearchDriver(Driver):
    """Runs a method that learns a policy step by step.

    Parameters
    ----------
    problem : Problem
        What to search on.
    searcher : Searcher
        How to search.
    plan : Plan
        How long, and what else.
    **options : object
        Other arguments of `Driver`.
    """

    def __init__(self, problem: Problem, searcher: Searcher, plan: Plan, **options: Any) -> None:
        super().__init__(problem, plan, **options)
        self.searcher = searcher
        saved = self.restore()
        if saved:
            self.searcher.load_state_dict(saved["searcher"])

    def found(self) -> Found:
        return self.searcher.to_spec()

    def state(self) -> dict[str, Any]:
        return {"searcher": self.searcher.state_dict()}

    def advance(self) -> SearchEpoch:
        start = perf_counter()
        steps = list(islice(self.searcher.run(), self.searcher.steps_per_epoch))
        self.epoch += 1
        self.seconds += perf_counter() - start
        return self._summary(steps)

    def _summary(self, steps: list[SearchStep]) -> SearchEpoch:
        problem, (table, tables) = self.problem, tables_of(self.searcher.to_spec())
        logits = predict_logits(self.searcher.model, problem.valid.x, problem.n_classes)
        rewards = [one.reward for one in steps if one.reward is not None]
        scores = score(problem.valid.y, logits.argmax(1), problem.class_names)
        return SearchEpoch(
            epoch=self.epoch,
            n_epochs=self.plan.n_epochs,
            train_loss=_mean([one.train_loss for one in steps]),
            valid_loss=cross_entropy(logits, problem.valid.y).item(),
            valid_balanced_accuracy=scores.balanced_accuracy,
            reward=_mean(rewards) if rewards else None,
            entropy=steps[-1].entropy,
            **tables,
            seconds=self.seconds,
            warnings=hints_of(table, steps),
        )


def _mean(values: list[float]) -> float:
    return float(torch.tensor(values, dtype=torch.float64).mean())
