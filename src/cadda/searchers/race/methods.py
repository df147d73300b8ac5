"""The race as a search method, and two methods that need no search."""

from __future__ import annotations

from dataclasses import dataclass

from cadda._internal.statistics import MIN_SUBJECTS
from cadda._internal.text import plural
from cadda._internal.validation import Seed, StageCount, validated_dataclass
from cadda.policies.spec.model import PolicySpec
from cadda.probing.passing import passing_operations
from cadda.searchers.events import PolicyProposed
from cadda.searchers.method import SearchMethod
from cadda.searchers.race.generations import guided_policy, trivial_policy
from cadda.searchers.race.race import MIN_BLOCKS
from cadda.searchers.race.runner import MIN_DECISIVE, N_KINDS, RaceRunner, n_first_candidates
from cadda.searchers.race.settings import RaceSettings
from cadda.searchers.runner import SearchContext, SearchRunner
from cadda.searchers.warnings import idle_workers
from cadda.training.problem import Problem

__all__ = ["AUTO", "GUIDED", "TRIVIAL", "GuidedSettings", "TrivialSettings"]


@dataclass(frozen=True)
class RaceMethod(SearchMethod[RaceSettings]):
    """Candidates raced by full training runs."""

    settings_class = RaceSettings
    unit = "training run"
    default_budget = 120
    decides_classes = True
    takes_turns = True
    plans_ahead = True
    needs_probe = True
    trains_trials = True

    def make_runner(
        self, problem: Problem, settings: RaceSettings, context: SearchContext
    ) -> SearchRunner:
        return RaceRunner(problem, settings, context)

    def max_parallel_trials(self, settings: RaceSettings) -> int:
        return settings.n_survivors

    def min_budget(self, settings: RaceSettings) -> int:
        return 2 * MIN_DECISIVE + 2 * MIN_BLOCKS

    def start_warnings(
        self, problem: Problem, settings: RaceSettings, context: SearchContext
    ) -> tuple[str, ...]:
        return (
            *idle_workers(context.engine.n_workers, "n_survivors", settings.n_survivors),
            *_small_budget(context.budget.n_epochs, settings),
            *_few_subjects(len({*problem.train.subject, *problem.valid.subject})),
        )


def _small_budget(budget: int, settings: RaceSettings) -> tuple[str, ...]:
    """Warn if few policies can be compared."""
    n_policies = n_first_candidates(budget, settings) - 1
    if n_policies >= N_KINDS:
        return ()
    return (
        f"{budget} training runs suffice to compare {plural(n_policies, 'policy', 'policies')} "
        "with no augmentation, and a better one may exist; increase `budget`",
    )


def _few_subjects(n_subjects: int) -> tuple[str, ...]:
    """Warn if a gain can hardly be shown."""
    if n_subjects >= MIN_SUBJECTS:
        return ()
    return (
        f"the race has {plural(n_subjects, 'subject')} to train and validate with; with fewer "
        f"than {MIN_SUBJECTS}, a gain can hardly be distinguished from none",
    )


@validated_dataclass
class GuidedSettings:
    """How to combine the operations that a probe lets pass.

    Parameters
    ----------
    n_stages : int
        Number of operations in a row.
    seed : int
        Not used: there is no search.
    """

    n_stages: StageCount = 2
    seed: Seed = 0


@validated_dataclass
class TrivialSettings:
    """TrivialAugment has no settings.

    Parameters
    ----------
    seed : int
        Not used: there is no search.
    """

    seed: Seed = 0


class _ProposalRunner(SearchRunner):
    """A method that knows its policy without a search."""

    def __init__(self, problem: Problem, policy: PolicySpec, context: SearchContext) -> None:
        super().__init__(problem, context)
        self.policy = policy
        self.restore()

    @property
    def n_epochs(self) -> int:
        return 1

    def best_policy(self) -> PolicySpec:
        return self.policy

    def advance(self) -> PolicyProposed:
        self.epoch = 1
        return PolicyProposed(self.policy.to_text())


@dataclass(frozen=True)
class GuidedMethod(SearchMethod[GuidedSettings]):
    """Operations at random, of those that a probe lets pass."""

    settings_class = GuidedSettings
    default_budget = 1
    decides_classes = True
    takes_turns = True
    needs_probe = True

    def make_runner(
        self, problem: Problem, settings: GuidedSettings, context: SearchContext
    ) -> SearchRunner:
        probe = context.probe
        passing = () if probe is None else passing_operations(probe, problem.pool)
        return _ProposalRunner(problem, guided_policy(passing, settings.n_stages), context)


@dataclass(frozen=True)
class TrivialMethod(SearchMethod[TrivialSettings]):
    """One operation of all at random."""

    settings_class = TrivialSettings
    default_budget = 1
    decides_classes = True

    def make_runner(
        self, problem: Problem, settings: TrivialSettings, context: SearchContext
    ) -> SearchRunner:
        return _ProposalRunner(problem, trivial_policy(problem.pool), context)


AUTO = RaceMethod("race of policies by full training runs; the answer may be no augmentation")
GUIDED = GuidedMethod("no search: operations in a row, at random, of those that a probe lets pass")
TRIVIAL = TrivialMethod("no search: one operation of all, at random magnitude (TrivialAugment)")
