"""Population-based augmentation: a schedule of policies, learned while models are trained.

Members are trained side by side, each with a policy of its own. After each segment of a few epochs
the worst quarter copies weights and policy from members of the best quarter, and perturbs the
policy. The result is the history of the best member: the policies its weights were trained with.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Annotated

import torch
from pydantic import Field, TypeAdapter

from cadda._internal.random import Seeds
from cadda._internal.validation import (
    Count,
    Seed,
    StageCount,
    SubpolicyCount,
    validated_dataclass,
)
from cadda.compute import Engine
from cadda.policies.schedule import PolicySchedule, Segment
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import AnyPolicy
from cadda.searchers.runner import SearchContext
from cadda.searchers.trials.encoding import PolicyEncoding, Values
from cadda.searchers.trials.protocol import (
    ContinuationEvaluator,
    Evaluator,
    Outcome,
    Proposal,
    TrialSearch,
)
from cadda.training.checkpoint import Fingerprint, load_checkpoint, restoring, save_checkpoint
from cadda.training.problem import Problem

__all__ = ["PopulationSearch", "PopulationSettings"]


@validated_dataclass
class PopulationSettings:
    """How to search by a population of models.

    Parameters
    ----------
    n_members : int
        Number of models that are trained side by side, each with a policy of its own.
    segment_epochs : int
        Epochs after which the members are compared. A trial is one member for this many epochs.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy.
    seed : int
        Decides everything that is random.
    """

    n_members: Annotated[int, Field(ge=2)] = 8
    segment_epochs: Count = 5
    n_subpolicies: SubpolicyCount = 5
    n_stages: StageCount = 2
    seed: Seed = 0


class PopulationSearch(TrialSearch):
    """Proposes how each member continues; a trial is one member for one segment."""

    def __init__(
        self, problem: Problem, settings: PopulationSettings, context: SearchContext
    ) -> None:
        self.problem, self.settings, self.budget = problem, settings, context.budget
        self.seeds = Seeds(settings.seed)
        class_names = problem.class_names if context.classwise else None
        self.encoding = PolicyEncoding(
            problem.pool, class_names, settings.n_subpolicies, settings.n_stages
        )
        self._outcomes: list[Outcome] = []
        self._file = None if context.files is None else context.files.population
        self._values = cache(self._make_values)
        if context.resume and self._file is not None and self._file.exists():
            saved = load_checkpoint(self._file, self._fingerprint())
            with restoring(self._file):
                self._outcomes = TypeAdapter(list[Outcome]).validate_python(saved["outcomes"])

    @property
    def n_trials(self) -> int:
        """Number of trials of the whole search, in complete generations."""
        return self.budget.n_epochs // self.settings.n_members * self.settings.n_members

    @property
    def outcomes(self) -> list[Outcome]:
        return self._outcomes

    def make_evaluator(self, engine: Engine) -> Evaluator:
        return ContinuationEvaluator(
            self.problem, self.budget.training, self.settings.segment_epochs
        )

    def n_required(self, number: int) -> int:
        return number // self.settings.n_members * self.settings.n_members

    def ask(self, number: int) -> Proposal:
        parent = self._parent(number)
        return Proposal(
            self.policy(number),
            None if parent is None else self._outcomes[parent].state,
            self.seeds.integer("member", member=number % self.settings.n_members),
        )

    def tell(self, number: int, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        generation = number // self.settings.n_members
        size = self.settings.n_members
        for old in range(max(0, generation - 2) * size, (generation - 1) * size):
            # No member continues from there any more.
            self._outcomes[old] = replace(self._outcomes[old], state=None)
        if self._file is not None:
            state = {"outcomes": [vars(outcome) for outcome in self._outcomes]}
            save_checkpoint(self._file, state, self._fingerprint())

    def policy(self, number: int) -> PolicySpec:
        return self.encoding.decode(self._values(number))

    def policy_as_result(self, number: int) -> AnyPolicy:
        lineage: list[int] = []
        ancestor: int | None = number
        while ancestor is not None:
            lineage.append(ancestor)
            ancestor = self._parent(ancestor)
        n_epochs = self.settings.segment_epochs
        return PolicySchedule(
            tuple(Segment(n_epochs, self.policy(trial)) for trial in reversed(lineage))
        )

    def _parent(self, number: int) -> int | None:
        """Return the trial that a trial continues: of its own member, or of a better one."""
        generation, member = divmod(number, self.settings.n_members)
        if generation == 0:
            return None
        first = (generation - 1) * self.settings.n_members
        ranking = sorted(range(first, first + self.settings.n_members), key=self._loss)
        n_copied = max(1, self.settings.n_members // 4)
        failed = [trial for trial in ranking if self._outcomes[trial].value is None]
        own = first + member
        if own not in {*ranking[-n_copied:], *failed}:
            return own
        choice = torch.randint(n_copied, (), generator=self._stream("copied", generation, member))
        chosen = ranking[int(choice)]
        # Where all have failed there is nothing to copy, and the member starts from scratch.
        return None if self._outcomes[chosen].value is None else chosen

    def _make_values(self, number: int) -> Values:
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
        value = self._outcomes[number].value
        return math.inf if value is None else value

    def _stream(self, name: str, generation: int, member: int) -> torch.Generator:
        return self.seeds.stream(name, generation=generation, member=member)

    def _fingerprint(self) -> Fingerprint:
        return {
            "n_members": self.settings.n_members,
            "segment_epochs": self.settings.segment_epochs,
            "operations": list(self.problem.pool.names),
        }
