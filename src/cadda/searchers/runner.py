"""Running a search: epochs or trials, retraining in between, checkpoints, events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from pydantic import TypeAdapter

from cadda.compute import Engine
from cadda.exceptions import RunError, TrainingError, WorkerError
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import PolicySummary, summarise
from cadda.probing.probe_result import ProbeResult
from cadda.searchers.events import (
    HISTORY_EVENTS,
    HistoryEvent,
    RaceProgress,
    SearchEnd,
    SearchEvent,
    Table,
    TrialEnd,
)
from cadda.searchers.retraining import (
    AnyPolicy,
    RetrainedModel,
    Retrainer,
    SearchBudget,
    SearchFiles,
)
from cadda.searchers.trials.protocol import Outcome, TrialSearch, evaluate
from cadda.training import Problem, TrainingEvent
from cadda.training.checkpoint import (
    Fingerprint,
    State,
    load_checkpoint,
    model_digest,
    restoring,
    save_checkpoint,
)

__all__ = ["SearchContext", "SearchRunner", "TrialRunner", "policy_tables"]

TABLES = ("applied", "share", "probability", "magnitude")


def _ignore(event: object) -> None:
    """Ignore an event."""


@dataclass(frozen=True)
class SearchContext:
    """All that a search needs beside its problem and the settings of its method."""

    budget: SearchBudget
    engine: Engine
    classwise: bool = False
    files: SearchFiles | None = None  # for checkpoints; None keeps none
    resume: bool = False  # whether to continue what an earlier process began in these files
    on_event: Callable[[SearchEvent], None] = _ignore
    on_training: Callable[[TrainingEvent | RaceProgress], None] = _ignore  # not in the history
    on_found: Callable[[AnyPolicy], None] = _ignore  # of the search, before models are trained
    probe: ProbeResult | None = None  # what operations do to classes
    probe_seconds: float = 0.0  # time that it took


class SearchRunner(ABC):
    """A search within a budget; it can be killed at any moment and resumes to the same result.

    A subclass calls `restore` at the end of its ``__init__``.
    """

    def __init__(self, problem: Problem, context: SearchContext) -> None:
        self.problem, self.budget, self.on_event = problem, context.budget, context.on_event
        self._on_found = context.on_found
        files = context.files
        self.retrainer = Retrainer(problem, context.budget, files, context.on_training)
        self.epoch, self.seconds, self.probe_seconds = 0, 0.0, context.probe_seconds
        self.history: list[HistoryEvent] = []
        self._checkpoint = None if files is None else files.checkpoint
        self._fingerprint = {} if files is None else _fingerprint_of(problem)

    @property
    def n_epochs(self) -> int:
        """Number of epochs or trials of the whole search."""
        return self.budget.n_epochs

    @abstractmethod
    def best_policy(self) -> AnyPolicy:
        """Return the best policy so far."""

    @abstractmethod
    def advance(self) -> HistoryEvent:
        """Run the next epoch or trial; adds to `epoch` and `seconds`."""

    def best_epoch(self) -> int:
        """Return the epoch or trial of the best policy so far."""
        return self.epoch

    def run(self) -> None:
        """Search until the budget is used up."""
        self._retrain_if_due()
        while not self._ends():
            self._report(self.advance())
            self._retrain_if_due()
        best = self.retrainer.best()
        last = self.best_epoch() if best is None else best.epoch
        self.on_event(SearchEnd(self.epoch, last, self.seconds))

    def state_dict(self) -> State:
        """Return what `load_state_dict` restores, beside what every search saves."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        del state

    def restore(self) -> None:
        """Continue from the checkpoint, if there is one."""
        if self._checkpoint is None or not self._checkpoint.exists():
            return
        saved = load_checkpoint(self._checkpoint, self._fingerprint)
        with restoring(self._checkpoint):
            self._restore(saved)

    def _restore(self, saved: State) -> None:
        self.epoch, self.seconds = saved["epoch"], saved["seconds"]
        self.probe_seconds = saved["probe_seconds"]
        self.history = [
            TypeAdapter(HISTORY_EVENTS[name]).validate_python(values)
            for name, values in saved["history"]
        ]
        for state in saved["retrained"]:
            retraining = RetrainedModel.from_state(state, self.problem)
            self.retrainer.done[retraining.epoch] = retraining
            # The process may have been killed before it did this itself.
            self.retrainer.forget_checkpoint(retraining.epoch)
        self.load_state_dict(saved["search"])

    def _ends(self) -> bool:
        limit, spent = self.budget.max_seconds, self.probe_seconds + self.seconds
        # Even a probe that took all the time is followed by one epoch or trial.
        is_late = limit is not None and self.epoch > 0 and spent >= limit
        return self.epoch >= self.n_epochs or is_late

    def _retrain_if_due(self) -> None:
        if not self.retrainer.is_due(self.epoch, ends=self._ends()):
            return
        policy = self.best_policy() if self.epoch else None
        if policy is not None and self._ends():
            self._on_found(policy)
        self._report(self.retrainer.run(self.epoch, policy, self.seconds))
        self.retrainer.forget_checkpoint(self.epoch)

    def _report(self, event: HistoryEvent) -> None:
        self.history.append(event)
        # Saved first, so that what was reported is never done again.
        self._save()
        self.on_event(event)

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        state = {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "probe_seconds": self.probe_seconds,
            "history": [(type(event).__name__, asdict(event)) for event in self.history],
            "retrained": [done.state_dict() for done in self.retrainer.done.values()],
            "search": self.state_dict(),
        }
        save_checkpoint(self._checkpoint, state, self._fingerprint)


def _fingerprint_of(problem: Problem) -> Fingerprint:
    """Return what identifies a search, so that no other search is resumed in its place."""
    return {
        **problem.identity,
        "operations": list(problem.pool.names),
        "pool": problem.pool.digest[:16],
        "model": model_digest(problem.make_model(0)),
    }


class TrialRunner(SearchRunner):
    """Asks for policies, has them evaluated, and reports the outcomes, always in the same order.

    Proposals depend on the seed and on a fixed part of the earlier outcomes, never on which worker
    was the quickest, so that every engine finds the same.
    """

    def __init__(self, problem: Problem, search: TrialSearch, context: SearchContext) -> None:
        super().__init__(problem, context)
        self.search, self.engine = search, context.engine
        self.restore()
        n_known = len(search.outcomes)
        if self.epoch > n_known:
            raise RunError(
                f"the Optuna study has {n_known} finished trials, but the run folder has "
                f"{self.epoch}; use the study that the search was started with."
            )
        # What the engine returns in place of the evaluator depends on the engine.
        self._evaluator: Any = None
        # A stack is always trained as a whole, so that its numbers do not depend on interruptions.
        self._asked = n_known // search.stack * search.stack
        self._running: dict[int, tuple[Future[list[Outcome]], int]] = {}
        self._best: int | None = None
        for number in range(self.epoch):
            self._keep_if_best(number, search.outcomes[number])

    @property
    def n_epochs(self) -> int:
        """Number of trials of the whole search."""
        return self.search.n_trials

    def best_policy(self) -> AnyPolicy:
        if self._best is None:
            outcomes = self.search.outcomes
            failure = outcomes[-1].failure if outcomes else "there was none"
            raise TrainingError(f"no trial has succeeded; the last one: {failure}.")
        return self.search.policy_as_result(self._best)

    def best_epoch(self) -> int:
        return 0 if self._best is None else self._best + 1

    def advance(self) -> TrialEnd:
        start = perf_counter()
        number = self.epoch
        if number < len(self.search.outcomes):
            outcome = self.search.outcomes[number]
        else:
            self._submit()
            outcome = self._outcome(number)
            self.search.tell(number, outcome)
            # The next trial is submitted before this one is reported, so that no worker waits.
            self._submit()
        self.epoch += 1
        self.seconds += perf_counter() - start
        is_best = self._keep_if_best(number, outcome)
        shown = number if self._best is None else self._best
        return TrialEnd(
            number=self.epoch,
            n_trials=self.n_epochs,
            value=outcome.value,
            is_best=is_best,
            failure=outcome.failure,
            **policy_tables(self.search.policy(shown), self.problem)[1],
            trial_seconds=outcome.seconds,
            seconds=self.seconds,
        )

    def _submit(self) -> None:
        """Submit all trials that can be asked for by now."""
        n_told = len(self.search.outcomes)
        while self._asked < self.n_epochs and self.search.n_required(self._asked) <= n_told:
            if self._evaluator is None:
                self._evaluator = self.engine.share(self.search.make_evaluator(self.engine))
            end = min(self._asked + self.search.stack, self.n_epochs)
            proposals = [self.search.ask(number) for number in range(self._asked, end)]
            future = self.engine.submit(evaluate, self._evaluator, proposals)
            for place in range(len(proposals)):
                self._running[self._asked + place] = future, place
            self._asked = end

    def _outcome(self, number: int) -> Outcome:
        future, place = self._running.pop(number)
        try:
            return future.result()[place]
        except WorkerError as error:
            return Outcome(None, f"{error}")

    def _keep_if_best(self, number: int, outcome: Outcome) -> bool:
        if outcome.value is None:
            return False
        best = None if self._best is None else self.search.outcomes[self._best].value
        if best is not None and outcome.value >= best:
            return False
        self._best = number
        return True


def policy_tables(policy: PolicySpec, problem: Problem) -> tuple[PolicySummary, dict[str, Table]]:
    """Return what a policy does, as arrays and as fields of an event: a column per choice."""
    summary = summarise(policy).for_operations(problem.pool.names)
    return summary, {name: tuple(map(tuple, getattr(summary, name).tolist())) for name in TABLES}
