"""The search methods of cadda."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

from cadda._internal.random import Seeds
from cadda.operations.label_maps import mapping_of
from cadda.searchers.gradient.base import Searcher
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.searchers.gradient.runner import GradientRunner
from cadda.searchers.gradient.settings import PAPER, BilevelSettings
from cadda.searchers.method import SearchMethod
from cadda.searchers.runner import SearchContext, SearchRunner, TrialRunner
from cadda.searchers.trials.encoding import PolicyEncoding, PolicySpace
from cadda.searchers.trials.optuna_search import StudySearch, TrialSettings, make_encoding
from cadda.searchers.trials.optuna_store import check_storage
from cadda.searchers.trials.population import PopulationSearch, PopulationSettings
from cadda.searchers.warnings import idle_workers, only_warmup, rare_classes
from cadda.training.batched import can_stack
from cadda.training.problem import Problem

__all__ = [
    "ADDA",
    "AUTOAUGMENT",
    "CADDA",
    "DADA",
    "FASTER_AUTOAUGMENT",
    "FAST_AUTOAUGMENT",
    "POPULATION",
    "RANDAUGMENT",
    "RANDOM",
]

GradientSettings = TypeVar("GradientSettings", BilevelSettings, FasterSettings)


@dataclass(frozen=True)
class GradientMethod(SearchMethod[GradientSettings]):
    """A method that learns a policy step by step."""

    @abstractmethod
    def make_searcher(
        self, problem: Problem, settings: GradientSettings, *, classwise: bool
    ) -> Searcher:
        """Make a search with one seed."""

    def make_runner(
        self, problem: Problem, settings: GradientSettings, context: SearchContext
    ) -> SearchRunner:
        searchers = [
            self.make_searcher(problem, replace(settings, seed=seed), classwise=context.classwise)
            for seed in _seeds(settings.seed, settings.n_seeds)
        ]
        return GradientRunner(problem, searchers, context, max_leak=settings.max_leak)

    def check(self, problem: Problem, settings: GradientSettings) -> None:
        _check_at_most_windows("batch_size", settings.batch_size, problem)

    def warmup(self, settings: GradientSettings) -> int:
        return settings.warmup_epochs

    def start_warnings(
        self, problem: Problem, settings: GradientSettings, context: SearchContext
    ) -> tuple[str, ...]:
        warnings = only_warmup(context.budget.n_epochs, settings.warmup_epochs)
        if not context.classwise:
            return warnings
        return warnings + rare_classes(problem.train.y, problem.class_names, settings.batch_size)

    def log10_policies(
        self, problem: Problem, settings: GradientSettings, *, classwise: bool
    ) -> float:
        n_rows = problem.n_classes if classwise else 1
        shape = (settings.n_subpolicies, settings.n_stages, n_rows)
        return PolicySpace(len(problem.pool), *shape).log10_size


@dataclass(frozen=True)
class BilevelMethod(GradientMethod[BilevelSettings]):
    """ADDA, CADDA and DADA."""

    settings_class = BilevelSettings

    def make_searcher(
        self, problem: Problem, settings: BilevelSettings, *, classwise: bool
    ) -> Searcher:
        return BilevelSearcher(problem, settings, classwise=classwise)

    def start_warnings(
        self, problem: Problem, settings: BilevelSettings, context: SearchContext
    ) -> tuple[str, ...]:
        warnings = super().start_warnings(problem, settings, context)
        if settings.estimator == "relax" or problem.pool.label_table is None:
            return warnings
        return (
            *warnings,
            "choices learn by `estimator`='relax', because straight-through gradients do not see "
            "that label maps change the class",
        )

    def log10_policies(
        self, problem: Problem, settings: BilevelSettings, *, classwise: bool
    ) -> float:
        # Whole sequences are weighted, whatever the number of subpolicies.
        if settings.sampling == "subpolicy":
            settings = replace(settings, n_subpolicies=1)
        return super().log10_policies(problem, settings, classwise=classwise)


@dataclass(frozen=True)
class FasterMethod(GradientMethod[FasterSettings]):
    """Faster AutoAugment."""

    settings_class = FasterSettings

    def restrict(self, problem: Problem) -> tuple[Problem, tuple[str, ...]]:
        mapped = [item.name for item in problem.pool if mapping_of(item) is not None]
        if not mapped:
            return problem, ()
        kept = [name for name in problem.pool.names if name not in mapped]
        if not kept:
            raise ValueError(
                "`operations` must have one without a label map for Faster AutoAugment, got only "
                f"{', '.join(mapped)}; use another `method`."
            )
        pool = problem.pool.select(kept)
        note = (
            f"Faster AutoAugment leaves out {', '.join(mapped)}: it compares augmented windows "
            "with real windows of the class that they had"
        )
        return replace(problem, make_pool=lambda: pool), (note,)

    def make_searcher(
        self, problem: Problem, settings: FasterSettings, *, classwise: bool
    ) -> Searcher:
        return FasterSearcher(problem, settings, classwise=classwise)


@dataclass(frozen=True)
class StudyMethod(SearchMethod[TrialSettings]):
    """AutoAugment, Fast AutoAugment, RandAugment and random search."""

    settings_class = TrialSettings
    unit = "trial"
    trains_trials = True

    def make_runner(
        self, problem: Problem, settings: TrialSettings, context: SearchContext
    ) -> SearchRunner:
        return TrialRunner(problem, StudySearch(problem, settings, context), context)

    def check(self, problem: Problem, settings: TrialSettings) -> None:
        _check_at_most_windows("n_folds", settings.n_folds, problem)
        if settings.stack > 1 and not can_stack(problem.make_model(0)):
            raise ValueError(
                "`stack` must be 1 for a model with dropout or batch normalisation, which cannot "
                f"be stacked, got {settings.stack}."
            )

    def check_storage(self, settings: TrialSettings, *, resume: bool) -> None:
        if settings.storage is not None:
            check_storage(settings.storage, settings.study_name, resume=resume)

    def max_parallel_trials(self, settings: TrialSettings) -> int:
        return max(1, settings.trials_at_once // settings.stack)

    def start_warnings(
        self, problem: Problem, settings: TrialSettings, context: SearchContext
    ) -> tuple[str, ...]:
        return idle_workers(
            context.engine.n_workers,
            "trials_at_once",
            settings.trials_at_once,
            n_each=settings.stack,
        )

    def log10_policies(
        self, problem: Problem, settings: TrialSettings, *, classwise: bool
    ) -> float:
        return make_encoding(problem, settings, classwise=classwise).log10_size


@dataclass(frozen=True)
class PopulationMethod(SearchMethod[PopulationSettings]):
    """Population-based augmentation."""

    settings_class = PopulationSettings
    unit = "trial"

    def make_runner(
        self, problem: Problem, settings: PopulationSettings, context: SearchContext
    ) -> SearchRunner:
        return TrialRunner(problem, PopulationSearch(problem, settings, context), context)

    def max_parallel_trials(self, settings: PopulationSettings) -> int:
        return settings.n_members

    def min_budget(self, settings: PopulationSettings) -> int:
        return settings.n_members

    def start_warnings(
        self, problem: Problem, settings: PopulationSettings, context: SearchContext
    ) -> tuple[str, ...]:
        return idle_workers(context.engine.n_workers, "n_members", settings.n_members)

    def log10_policies(
        self, problem: Problem, settings: PopulationSettings, *, classwise: bool
    ) -> float:
        class_names = problem.class_names if classwise else None
        shape = (settings.n_subpolicies, settings.n_stages)
        return PolicyEncoding(problem.pool, class_names, *shape).log10_size


def _seeds(seed: int, n_seeds: int) -> list[int]:
    """Return different seeds, the first of which is the given one."""
    return [seed, *(Seeds(seed).integer("search", number=n) for n in range(1, n_seeds))]


def _check_at_most_windows(name: str, value: int, problem: Problem) -> None:
    if value > len(problem.train):
        raise ValueError(
            f"`{name}` must be at most the number of training windows, {len(problem.train)}, "
            f"got {value}."
        )


BY_TRAINING = {"evaluator": "training", "n_folds": 5}
"""Without held-out folds, their number has no effect and cannot be set."""

ADDA = BilevelMethod("bilevel gradient, one operation drawn per stage", paper=PAPER)
CADDA = BilevelMethod(
    "ADDA with a policy for each class", classwise=True, paper=PAPER | {"batch_size": 32}
)
DADA = BilevelMethod(
    "bilevel gradient, whole sequences of operations drawn",
    fixed={"sampling": "subpolicy", "n_subpolicies": 1},
    paper=PAPER,
)
FASTER_AUTOAUGMENT = FasterMethod("match augmented to real windows with a WGAN critic")
AUTOAUGMENT = StudyMethod(
    "train a model with each policy; TPE proposes",
    fixed={"sampler": "tpe", **BY_TRAINING},
    paper={"trials_at_once": 1},
)
FAST_AUTOAUGMENT = StudyMethod(
    "models trained without augmentation rate augmented windows; TPE proposes",
    fixed={"sampler": "tpe", "evaluator": "held-out", "stack": 1},
    paper={"trials_at_once": 1},
)
RANDOM = StudyMethod(
    "train a model with each policy; policies are drawn at random",
    fixed={"sampler": "random", "multivariate": False, **BY_TRAINING},
)
RANDAUGMENT = StudyMethod(
    "grid over the number of operations and one magnitude",
    fixed={"sampler": "grid", "multivariate": False, "n_subpolicies": 1, **BY_TRAINING},
)
POPULATION = PopulationMethod("models trained side by side copy and perturb the best policies")
