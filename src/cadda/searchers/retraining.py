"""Training from scratch with the policies that a search finds on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter

from cadda._internal.limits import parse_json
from cadda.policies.schedule import PolicySchedule, build_policy
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import Retrained
from cadda.training import EpochEnd, Fitted, Problem, TrainingEvent, TrainingSettings, train
from cadda.training.checkpoint import State

__all__ = ["AnyPolicy", "RetrainedModel", "Retrainer", "SearchBudget", "SearchFiles"]

AnyPolicy = PolicySpec | PolicySchedule


@dataclass(frozen=True)
class SearchBudget:
    """How long to search, and when to train from scratch with the best policy so far.

    The policy of the retraining with the lowest validation loss is the result. All have the same
    seed, so that only the policy differs.
    """

    n_epochs: int  # or trials
    max_seconds: float | None = None  # no epoch or trial starts later; retraining does not count
    retrain_at: tuple[int, ...] = ()  # epochs or trials; 0 trains without augmentation
    training: TrainingSettings = field(default_factory=TrainingSettings)
    trial_epochs: int | None = None  # most epochs of a trial; None for those of `training`

    @property
    def trial_training(self) -> TrainingSettings:
        """Settings of the models that policies are tried with."""
        if self.trial_epochs is None:
            return self.training
        shorter = min(self.trial_epochs, self.training.max_epochs)
        return replace(self.training, max_epochs=shorter)


@dataclass(frozen=True, eq=False)
class RetrainedModel:
    """A model trained from scratch during a search."""

    epoch: int  # epoch or trial that the policy is from; 0 is without augmentation
    policy: AnyPolicy | None
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
    def from_state(cls, state: State, problem: Problem) -> RetrainedModel:
        """Restore what `state_dict` returned."""
        policy: AnyPolicy | None = None
        if state["policy"] is not None:
            content = parse_json(state["policy"])
            kind = PolicySchedule if "segments" in content else PolicySpec
            policy = kind.from_dict(content, known=None)
        model = problem.new_model(0)
        model.load_state_dict(state["weights"])
        history = [EpochEnd(**event) for event in state["history"]]
        fitted = Fitted(
            *(model.eval(), history, state["best_epoch"], state["stopped_early"]),
            problem.description,
            subjects=problem.subjects,
        )
        return cls(state["epoch"], policy, fitted)


@dataclass(frozen=True)
class SearchFiles:
    """Files in which a search keeps its state; `RunFolder` has their names."""

    checkpoint: Path
    retraining: Callable[[int], Path]  # by epoch, so that no other retraining resumes from it
    study: Path  # of Optuna
    folds: Path  # models that policies are evaluated with
    population: Path
    runs: Path  # training runs of a race
    race: Path  # the race so far


class Retrainer:
    """Trains from scratch as often as the budget says, and keeps the models."""

    def __init__(
        self,
        problem: Problem,
        budget: SearchBudget,
        files: SearchFiles | None,
        on_training: Callable[[TrainingEvent], None],
    ) -> None:
        self.problem, self.budget, self.files = problem, budget, files
        self.on_training = on_training
        self.done: dict[int, RetrainedModel] = {}

    def is_due(self, epoch: int, *, ends: bool) -> bool:
        """Return whether to retrain now; `ends` is whether the search ends here."""
        last = max(self.budget.retrain_at, default=-1)
        due = epoch in self.budget.retrain_at or (ends and last > epoch)
        return due and epoch not in self.done

    def best(self) -> RetrainedModel | None:
        """Return the retraining with the lowest validation loss, that without policy excepted."""
        return min(
            (retraining for epoch, retraining in self.done.items() if epoch),
            key=lambda retraining: retraining.valid_loss,
            default=None,
        )

    def run(self, epoch: int, policy: AnyPolicy | None, search_seconds: float) -> Retrained:
        """Train from scratch, unless a model with the same policy exists."""
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
            train_losses=tuple(event.train_loss for event in trained.fitted.history),
            valid_losses=tuple(event.valid_loss for event in trained.fitted.history),
            missing_classes=last.missing_classes,
        )

    def forget_checkpoint(self, epoch: int) -> None:
        """Remove the checkpoint of a training run that is done and saved."""
        path = self._checkpoint(epoch)
        if path is not None:
            path.unlink(missing_ok=True)

    def _trained(self, epoch: int, policy: AnyPolicy | None) -> RetrainedModel:
        if isinstance(policy, PolicySpec) and policy.is_none:
            policy = None
        for earlier in self.done.values():
            if earlier.policy == policy:
                return replace(earlier, epoch=epoch)
        fitted = train(
            self.problem,
            self.budget.training,
            policy=None if policy is None else build_policy(policy, self.problem.pool),
            on_event=self.on_training,
            checkpoint=self._checkpoint(epoch),
        )
        return RetrainedModel(epoch, policy, fitted)

    def _checkpoint(self, epoch: int) -> Path | None:
        return None if self.files is None else self.files.retraining(epoch)
