"""Running a race: training runs on an engine, saved as they end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Literal

import numpy as np
import torch

from cadda._internal.random import Seeds
from cadda._internal.rows import join
from cadda._internal.text import plural
from cadda.exceptions import WorkerError
from cadda.policies.spec.model import PolicySpec
from cadda.probing.passing import LENIENT, RETAINED, Passing, passing_operations
from cadda.reporting.race import RaceFacts
from cadda.searchers.events import RaceProgress, RaceRound
from cadda.searchers.race.blocks import Block, RunScore, run_candidate
from cadda.searchers.race.candidates import Candidate
from cadda.searchers.race.generations import (
    chains,
    class_by_class,
    first_generation,
    guided_policy,
)
from cadda.searchers.race.proposals import propose
from cadda.searchers.race.race import MIN_BLOCKS, Entrant, Race
from cadda.searchers.race.run_log import RunLog
from cadda.searchers.race.settings import RaceSettings
from cadda.searchers.race.verdict import make_verdict
from cadda.searchers.runner import SearchContext, SearchRunner
from cadda.training import Problem, Samples, TrainingSettings
from cadda.training.checkpoint import State

__all__ = ["RaceRunner", "n_first_candidates", "usable_problem"]

SHARE_OF_FIRST = 0.45
"""Share of the budget, the decision aside, for candidates before any is combined."""

SHARE_OF_DECISION = 0.25
"""Share of the budget, and of the time, for the decision."""

MIN_CANDIDATES = 2
"""No augmentation, and one policy to compare it with."""

N_KINDS = 4
"""Candidates that race before those that searches propose: none, and one of each kind."""

MIN_DECISIVE = 3
"""Blocks of the decision, whatever the budget is."""

N_EXAMPLES = 64
"""Windows on which it is measured how much operations change."""

_MORE = {"time": "(`max_seconds`)", "training runs": "(`budget`)"}

N_STAGES = 2
"""Operations in a row of the guided policy that is the answer before there is a better one."""


def usable_problem(problem: Problem) -> Problem:
    """Return a problem with all windows of training and validation in its training part."""
    parts = problem.train, problem.valid
    together = Samples(
        join([part.x for part in parts]),
        torch.cat([part.y for part in parts]),
        tuple(name for part in parts for name in part.subject),
    )
    return replace(problem, train=together)


class RaceRunner(SearchRunner):
    """Races candidates within a budget of training runs, of time, or of both."""

    def __init__(self, problem: Problem, settings: RaceSettings, context: SearchContext) -> None:
        super().__init__(problem, context)
        self.settings, self.engine = settings, context.engine
        self._on_progress = context.on_training
        self.passing, self.lenient = (
            _passing(context, problem, retained) for retained in (RETAINED, LENIENT)
        )
        self._facts_file = None if context.files is None else context.files.race
        self._log = RunLog(None if context.files is None else context.files.runs)
        self._usable = usable_problem(problem)
        # What the engine returns in place of the problem depends on the engine.
        self._shared: Problem | None = None
        affordable = replace(settings, n_decisive=self.n_reserved // 2)
        self.race = Race(_windows_by_subject(self._usable), affordable, [])
        self._lacked: Literal["time", "training runs"] | None = None
        self._waiting: list[Candidate] = []
        self._run_seconds: float | None = None  # of the last round, for each training run
        self.restore()

    @property
    def n_reserved(self) -> int:
        """Training runs that are kept for the decision."""
        return _n_reserved(self.n_epochs, self.settings)

    def best_policy(self) -> PolicySpec:
        race = self.race
        verdict = make_verdict(race)
        if verdict is not None:
            winner = race.winner
            return winner.candidate.policy if winner and verdict.is_gain else PolicySpec.none()
        if not race.entrants or race.none.n_blocks < MIN_BLOCKS:
            return guided_policy(self.passing, N_STAGES)
        return race.simplest().candidate.policy

    def facts(self) -> RaceFacts:
        """Return the race so far."""
        race, rows = self.race, self.race.rows()
        verdict = make_verdict(race)
        if verdict is not None and self.budget.trial_training != self.budget.training:
            short = self.budget.trial_training.max_epochs
            note = f" This is about training for at most {short} epochs, as in the race."
            verdict = replace(verdict, sentence=verdict.sentence + note)
        if verdict is not None and not verdict.is_gain and self._lacked is not None:
            n_compared = sum(bool(entrant.scores) for entrant in race.entrants[1:])
            policies = plural(n_compared, "policy", "policies")
            note = (
                f" The {self._lacked} sufficed to compare {policies}; with more "
                f"{_MORE[self._lacked]}, the answer may be another."
            )
            verdict = replace(verdict, sentence=verdict.sentence + note)
        chosen = race.simplest().candidate.name
        if verdict is not None:
            chosen = verdict.candidate if verdict.is_gain else race.none.candidate.name
            rows = tuple(
                replace(row, status="chosen") if row.name == chosen else row for row in rows
            )
        return RaceFacts(
            candidates=rows,
            chosen=chosen,
            verdict=verdict,
            n_runs=self.epoch,
            seconds=self.seconds,
        )

    def advance(self) -> RaceRound:
        start = perf_counter()
        if not self.race.entrants:
            first = self._first_generation()
            # With a limit, the first training runs show how many candidates there is time for.
            n_first = len(first) if self.budget.max_seconds is None else MIN_CANDIDATES
            self.race.entrants = [Entrant(item) for item in first[:n_first]]
            self._waiting = first[n_first:]
        elif self._waiting:
            self._admit_in_time()
        runs, begin = self._next_runs(), perf_counter()
        self.race.tell(runs, list(self._train(runs)))
        self._run_seconds = (perf_counter() - begin) / max(len(runs), 1)
        self.epoch += len(runs)
        self.seconds += perf_counter() - start
        self._end_phase()
        if self._facts_file is not None:
            self.facts().save(self._facts_file)
        return self._round()

    def _ends(self) -> bool:
        if super()._ends():
            return True
        return bool(self.race.entrants) and not self.race.next_runs()

    def _first_generation(self) -> list[Candidate]:
        pool = self.problem.pool
        seeds, windows = Seeds(self.settings.seed), self._usable.train
        few = torch.randperm(len(windows.x), generator=seeds.stream("examples"))[:N_EXAMPLES]
        candidates = first_generation(
            self.passing,
            self.lenient,
            pool,
            windows.x[few],
            windows.y[few],
            seeds.stream("change of examples"),
        )
        n_affordable = n_first_candidates(self.n_epochs, self.settings)
        if n_affordable <= N_KINDS:
            self._lacked = "training runs"
            return candidates[:n_affordable]
        block = self.race.block(0)
        proposed = propose(self._usable, self.lenient, block, self.settings, self.engine)
        first = [*candidates[:N_KINDS], *proposed, *candidates[N_KINDS:]]
        return first[:n_affordable]

    def _admit_in_time(self) -> None:
        """Add as many of the candidates that wait as there is time for, as far as is known."""
        n_more = max(0, self._n_in_time() - len(self.race.entrants))
        self.race.entrants += [Entrant(item) for item in self._waiting[:n_more]]
        self._waiting = self._waiting[n_more:]

    def _dismiss_waiting(self) -> None:
        """Go on without candidates that there was no time for."""
        if self._waiting:
            self._lacked, self._waiting = "time", []

    def _n_in_time(self) -> int:
        """Return how many candidates there is time for; all if no training run was timed."""
        limit = self.budget.max_seconds
        if limit is None or self._run_seconds is None:
            return len(self.race.entrants) + len(self._waiting)
        left = (1 - SHARE_OF_DECISION) * limit - self.probe_seconds - self.seconds
        return _n_first(self.epoch + int(left / self._run_seconds))

    def _next_runs(self) -> list[tuple[Entrant, Block]]:
        # A block of the decision has two training runs: too few for many workers.
        n_blocks = self.engine.n_workers
        runs = self.race.next_runs(n_blocks)
        is_choice = self.race.phase != "decision"
        if is_choice and len(runs) > self.n_epochs - self.n_reserved - self.epoch:
            self._lacked = "training runs"
            self._decide()
            runs = self.race.next_runs(n_blocks)
        return runs[: self.n_epochs - self.epoch]

    def _end_phase(self) -> None:
        """Begin the next phase if this one is over, or the time for it."""
        race, limit = self.race, self.budget.max_seconds
        if race.phase == "decision":
            return
        spent = self.probe_seconds + self.seconds
        if limit is not None and spent > (1 - SHARE_OF_DECISION) * limit:
            self._lacked = "time"
            self._decide()
        elif race.next_runs():
            return
        elif race.phase == "candidates":
            self._dismiss_waiting()
            race.join(
                "combinations", chains([each.candidate for each in race.ranked()], self.lenient)
            )
        elif race.phase == "combinations" and (refined := self._class_by_class()):
            race.join("classes", refined)
        elif race.phase != "finalists":
            race.join("finalists", [])
        else:
            self._decide()

    def _decide(self) -> None:
        """Begin the decision, with all that is left of the budget."""
        self._dismiss_waiting()
        n_affordable = (self.n_epochs - self.epoch) // 2
        self.race.decide(min(self.settings.n_decisive, max(MIN_DECISIVE, n_affordable)))

    def _class_by_class(self) -> list[Candidate]:
        best = self.race.ranked()[0].candidate
        names = self.problem.class_names
        return class_by_class(best, self.lenient, names, self.settings.max_leak)

    @property
    def _training(self) -> TrainingSettings:
        """How candidates are trained."""
        training, patience = self.budget.trial_training, self.settings.trial_patience
        shorter = training.patience if patience is None else min(patience, training.patience)
        return replace(training, patience=shorter)

    def _train(self, runs: Sequence[tuple[Entrant, Block]]) -> Iterator[RunScore]:
        """Yield the scores of training runs in their order; those that were saved are reused."""
        if self._shared is None:
            self._shared = self.engine.share(self._usable)
        answers = [
            self._log.find(entrant.candidate, block)
            or self.engine.submit(
                run_candidate, self._shared, block, entrant.candidate, self._training
            )
            for entrant, block in runs
        ]
        for index, ((entrant, block), answer) in enumerate(zip(runs, answers, strict=True)):
            if isinstance(answer, RunScore):
                yield answer
                continue
            try:
                score = answer.result()
            except WorkerError as error:
                score = RunScore(math.inf, (), 0.0, str(error))
            self._log.append(entrant.candidate, block, score)
            self._on_progress(RaceProgress(self.epoch + index + 1, self._max_runs))
            yield score

    @property
    def _max_runs(self) -> int:
        """Training runs of the whole race, as far as they are known."""
        missing = self.race.n_missing
        return self.n_epochs if missing is None else min(self.n_epochs, self.epoch + missing)

    def _round(self) -> RaceRound:
        rows = self.race.rows()
        return RaceRound(
            n_runs=self.epoch,
            max_runs=self._max_runs,
            phase=self.race.phase,
            names=tuple(row.name for row in rows),
            n_blocks=tuple(row.n_blocks for row in rows),
            gains=tuple(row.gain for row in rows),
            errors=tuple(row.error for row in rows),
            accuracy_gains=tuple(row.accuracy_gain for row in rows),
            statuses=tuple(row.status for row in rows),
            reasons=tuple(row.reason for row in rows),
            seconds=self.seconds,
        )

    def state_dict(self) -> State:
        return {
            **self.race.state_dict(),
            "lacked": self._lacked,
            "run_seconds": self._run_seconds,
            "waiting": [candidate.state_dict() for candidate in self._waiting],
        }

    def load_state_dict(self, state: State) -> None:
        self.race.load_state_dict(state)
        self._lacked, self._run_seconds = state["lacked"], state["run_seconds"]
        self._waiting = [Candidate.from_state(item) for item in state["waiting"]]


def n_first_candidates(budget: int, settings: RaceSettings) -> int:
    """Return how many candidates a budget of training runs suffices for, no augmentation too."""
    return max(MIN_CANDIDATES, _n_first(budget - _n_reserved(budget, settings)))


def _n_reserved(budget: int, settings: RaceSettings) -> int:
    affordable = int(budget * SHARE_OF_DECISION / 2)
    return 2 * min(settings.n_decisive, max(MIN_DECISIVE, affordable))


def _n_first(n_runs: int) -> int:
    """Return how many candidates can race at first, given the training runs for the choice."""
    return int(n_runs * SHARE_OF_FIRST) // MIN_BLOCKS


def _passing(context: SearchContext, problem: Problem, retained: float) -> tuple[Passing, ...]:
    if context.probe is None:
        return ()
    return passing_operations(context.probe, problem.pool, retained=retained)


def _windows_by_subject(usable: Problem) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    subject, labels = np.array(usable.train.subject), usable.train.y.numpy()
    return {
        str(name): np.bincount(labels[subject == name], minlength=usable.n_classes)
        for name in np.unique(subject)
    }
