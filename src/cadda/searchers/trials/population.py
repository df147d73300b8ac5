"""Population-based augmentation: a schedule of policies, learned while models are trained.

Members are trained side by side, each with a policy of its own. After each segment of a few epochs
the worst quarter takes over weights and policy of members of the best quarter, and changes the
policy a little. What comes out is the history of the best member: which policy its weights saw
when.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from cadda._internal.random import Seeds
from cadda.compute import Engine
from cadda.policies.schedule import PolicySchedule, Segment
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import Found, Plan
from cadda.searchers.trials.encoding import PolicyEncoding
from cadda.searchers.trials.evaluators import SegmentJudge
from cadda.searchers.trials.protocol import Judge, Outcome, Proposal, TrialSearch
from cadda.searchers.trials.settings import PopulationSettings
from cadda.training.checkpoint import load_checkpoint, save_checkpoint
from cadda.training.problem import Problem

__all__ = ["PopulationSearch"]


class PopulationSearch(TrialSearch):
    """Proposes how each member goes on; a trial is one member for one segment.

    Parameters
    ----------
    problem : Problem
        What to search on.
    settings : PopulationSettings
        How to search.
    classwise : bool
        Whether each class gets a policy of its own.
    plan : Plan
        How many trials, and how members train.
    folder : Path | None
        Where the population is kept; None keeps it in memory.
    resume : bool
        Whether to go on with a population that is there already.
    """

    def __init__(
        self,
        problem: Problem,
        settings: PopulationSettings,
        *,
        classwise: bool,
        plan: Plan,
        folder: Path | None,
        resume: bool,
    ) -> None:
        self.problem, self.settings, self.plan = problem, settings, plan
        self.seeds = Seeds(settings.seed)
        self.encoding = PolicyEncoding(
            problem.pool,
            problem.class_names if classwise else None,
            settings.n_subpolicies,
            settings.n_stages,
        )
        self._past: list[Outcome] = []
        self._file = None if folder is None else folder / "population.pt"
        self._values = cache(self._make_values)
        if resume and self._file is not None and self._file.exists():
            saved = load_checkpoint(self._file, self._fingerprint())
            self._past = [Outcome(**one) for one in saved["past"]]

    @property
    def n_trials(self) -> int:
        """How many trials there will be: whole generations only."""
        return self.plan.n_epochs // self.settings.n_members * self.settings.n_members

    @property
    def log10_policies(self) -> float:
        return self.encoding.log10_size

    @property
    def past(self) -> list[Outcome]:
        return self._past

    def judge(self, engine: Engine) -> Judge:
        return SegmentJudge(self.problem, self.plan.training, self.settings.segment_epochs)

    def needs(self, number: int) -> int:
        return number // self.settings.n_members * self.settings.n_members

    def ask(self, number: int) -> Proposal:
        parent = self._parent(number)
        return Proposal(
            self.policy(number),
            None if parent is None else self._past[parent].state,
            self.seeds.integer("member", member=number % self.settings.n_members),
        )

    def tell(self, number: int, outcome: Outcome) -> None:
        self._past.append(outcome)
        generation = number // self.settings.n_members
        size = self.settings.n_members
        for old in range(max(0, generation - 2) * size, (generation - 1) * size):
            # Nobody goes on from there any more.
            self._past[old] = replace(self._past[old], state=None)
        if self._file is not None:
            save_checkpoint(
                self._file, {"past": [vars(one) for one in self._past]}, self._fingerprint()
            )

    def policy(self, number: int) -> PolicySpec:
        return self.encoding.decode(self._values(number))

    def found(self, number: int) -> Found:
        lineage: list[int] = []
        ancestor: int | None = number
        while ancestor is not None:
            lineage.append(ancestor)
            ancestor = self._parent(ancestor)
        n_epochs = self.settings.segment_epochs
        return PolicySchedule(
            tuple(Segment(n_epochs, self.policy(one)) for one in reversed(lineage))
        )

    def _parent(self, number: int) -> int | None:
        """Say which trial a trial goes on from: its own member's, or a better one's."""
        generation, member = divmod(number, self.settings.n_members)
        if generation == 0:
            return None
        first = (generation - 1) * self.settings.n_members
        ranking = sorted(range(first, first + self.settings.n_members), key=self._loss)
        n_copied = max(1, self.settings.n_members // 4)
        failed = [one for one in ranking if self._past[one].value is None]
        own = first + member
        if own not in {*ranking[-n_copied:], *failed}:
            return own
        choice = torch.randint(n_copied, (), generator=self._stream("copied", generation, member))
        chosen = ranking[int(choice)]
        # Where all have failed there is nothing to take over, and the member starts anew.
        return None if self._past[chosen].value is None else chosen

    def _make_values(self, number: int) -> dict[str, Any]:
        generation, member = divmod(number, self.settings.n_members)
        parent = self._parent(number)
        if parent is None:
            return self.encoding.draw(self._stream("first", generation, member))
        if parent % self.settings.n_members == member:
            return self._values(parent)
        return self.encoding.perturb(
            self._values(parent), self._stream("perturbed", generation, member)
        )

    def _loss(self, number: int) -> float:
        value = self._past[number].value
        return math.inf if value is None else value

    def _stream(self, name: str, generation: int, member: int) -> torch.Generator:
        return self.seeds.stream(name, generation=generation, member=member)

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "n_members": self.settings.n_members,
            "segment_epochs": self.settings.segment_epochs,
            "operations": list(self.problem.pool.names),
        }
