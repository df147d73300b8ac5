"""Runs a search that tries one policy after the other, several at once where there are workers."""

from __future__ import annotations

from concurrent.futures import Future
from time import perf_counter
from typing import Any

from cadda.compute import Engine
from cadda.exceptions import RunError, TrainingError, WorkerError
from cadda.searchers.events import TrialEnd
from cadda.searchers.retraining import Found, Plan
from cadda.searchers.runner import Driver
from cadda.searchers.tables import tables_of
from cadda.searchers.trials.protocol import Outcome, TrialSearch, evaluate
from cadda.training.problem import Problem

__all__ = ["TrialDriver"]


class TrialDriver(Driver):
    """Asks for policies, has them judged, and tells what came of it, always in the same order.

    Proposals depend on the seed and on a fixed part of the past, never on which worker was the
    quickest, so that every engine finds the same.

    Parameters
    ----------
    problem : Problem
        What to search on.
    search : TrialSearch
        Proposes policies and remembers trials.
    plan : Plan
        How long, and what else.
    engine : Engine
        Does the trials.
    **options : object
        Other arguments of `Driver`.
    """

    def __init__(
        self, problem: Problem, search: TrialSearch, plan: Plan, engine: Engine, **options: Any
    ) -> None:
        super().__init__(problem, plan, **options)
        self.search, self.engine = search, engine
        self.restore()
        if self.epoch > len(search.past):
            raise RunError(
                f"the study has {len(search.past)} finished trials, but the run folder knows of "
                f"{self.epoch}; it must be the study that the search was begun with."
            )
        self._judge: Any = None
        # A stack is always trained as a whole, so that its numbers do not depend on interruptions.
        self._asked = len(search.past) // search.stack * search.stack
        self._running: dict[int, tuple[Future[list[Outcome]], int]] = {}
        self._best: int | None = None
        for number in range(self.epoch):
            self._keep_if_best(number, search.past[number])

    @property
    def n_epochs(self) -> int:
        """How many trials there will be."""
        return self.search.n_trials

    def found(self) -> Found:
        if self._best is None:
            failure = self.search.past[-1].failure if self.search.past else "there was none"
            raise TrainingError(f"no trial has succeeded; the last one: {failure}.")
        return self.search.found(self._best)

    def best_epoch(self) -> int:
        return 0 if self._best is None else self._best + 1

    def advance(self) -> TrialEnd:
        start = perf_counter()
        number = self.epoch
        if number < len(self.search.past):
            outcome = self.search.past[number]
        else:
            self._submit()
            outcome = self._outcome(number)
            self.search.tell(number, outcome)
            # The next trial is begun before this one is reported, so that no worker waits.
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
            **tables_of(self.search.policy(shown))[1],
            trial_seconds=outcome.seconds,
            seconds=self.seconds,
        )

    def _submit(self) -> None:
        """Have all those trials done that can be asked for by now."""
        told = len(self.search.past)
        while self._asked < self.n_epochs and self.search.needs(self._asked) <= told:
            if self._judge is None:
                self._judge = self.engine.share(self.search.judge(self.engine))
            end = min(self._asked + self.search.stack, self.n_epochs)
            proposals = [self.search.ask(number) for number in range(self._asked, end)]
            future = self.engine.submit(evaluate, self._judge, proposals)
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
        best = None if self._best is None else self.search.past[self._best].value
        if best is not None and outcome.value >= best:
            return False
        self._best = number
        return True
