"""Training from scratch with the policies that a search finds on its way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter

from cadda.policies.schedule import PolicySchedule, build_policy
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import Retrained
from cadda.training import EpochEnd, Fitted, Problem, TrainingEvent, TrainingSettings, train
from cadda.training.checkpoint import State

__all__ = ["Found", "Plan", "Retraining", "Retrainings"]

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
class Retraining:
    """A model trained from scratch during a search."""

    epoch: int  # epoch or trial that the policy is from; 0 is without augmentation
    policy: Found | None
    fitted: Fitted

    @property
    def valid_loss(self) -> float:
        """Loss on the validation windows."""
        return self.fitted.best.valid_loss

    def state_dict(self) -> State:
        """Return what `from_state` restores."""
        return {
            "epoch": self.epoch,
            "policy": None if self.policy is None else self.policy.to_json(),
            "weights": self.fitted.model.state_dict(),
            "history": [asdict(event) for event in self.fitted.history],
            "best_epoch": self.fitted.best_epoch,
            "stopped_early": self.fitted.stopped_early,
        }

    @classmethod
    def from_state(cls, state: State, problem: Problem) -> Retraining:
        """Restore what `state_dict` returned."""
        policy: Found | None = None
        if state["policy"] is not None:
            content = json.loads(state["policy"])
            kind = PolicySchedule if "segments" in content else PolicySpec
            policy = kind.from_dict(content, known=None)
        model = problem.new_model(0)
        model.load_state_dict(state["weights"])
        history = [EpochEnd(**event) for event in state["history"]]
        fitted = Fitted(
            model.eval(), history, state["best_epoch"], state["stopped_early"], problem.description
        )
        return cls(state["epoch"], policy, fitted)


class Retrainings:
    """Trains from scratch when a plan says so, and remembers what came of it.

    Parameters
    ----------
    problem : Problem
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
        problem: Problem,
        plan: Plan,
        folder: Path | None,
        on_training: Callable[[TrainingEvent], None],
    ) -> None:
        self.problem, self.plan, self.folder, self.on_training = problem, plan, folder, on_training
        self.done: dict[int, Retraining] = {}

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

    def best(self) -> Retraining | None:
        """Give the retraining whose policy is the result, if there was any.

        Returns
        -------
        Retraining | None
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
        last = trained.fitted.best
        return Retrained(
            epoch=epoch,
            valid_loss=last.valid_loss,
            valid_balanced_accuracy=last.valid_balanced_accuracy,
            is_best=is_best,
            search_seconds=search_seconds,
            seconds=perf_counter() - start,
            train_losses=tuple(one.train_loss for one in trained.fitted.history),
            valid_losses=tuple(one.valid_loss for one in trained.fitted.history),
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

    def _trained(self, epoch: int, policy: Found | None) -> Retraining:
        for earlier in self.done.values():
            if earlier.policy == policy:
                return replace(earlier, epoch=epoch)
        fitted = train(
            self.problem,
            self.plan.training,
            policy=None if policy is None else build_policy(policy, self.problem.pool),
            on_event=self.on_training,
            checkpoint=self._checkpoint(epoch),
        )
        return Retraining(epoch, policy, fitted)

    def _checkpoint(self, epoch: int) -> Path | None:
        # Named after its epoch, so that one that was left behind is not taken for the next.
        return None if self.folder is None else self.folder / f"retraining-{epoch}.pt"
