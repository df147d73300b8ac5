"""The search methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cadda._internal.text import did_you_mean
from cadda._internal.validation import check_positive
from cadda.compute import Engine
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.searchers.gradient.settings import PAPER, BilevelSettings
from cadda.searchers.retraining import Plan
from cadda.searchers.runner import Driver, SearchDriver
from cadda.searchers.space import PolicySpace
from cadda.searchers.trials.optuna_search import StudySearch
from cadda.searchers.trials.population import PopulationSearch
from cadda.searchers.trials.runner import TrialDriver
from cadda.searchers.trials.settings import PopulationSettings, TrialSettings
from cadda.training.problem import Problem

__all__ = ["METHODS", "Method", "find_method"]


@dataclass(frozen=True)
class Method:
    """A way to search.

    Parameters
    ----------
    summary : str
        What it does, in a few words.
    settings : type
        Dataclass of its settings.
    make : callable
        Makes what searches from a problem, settings and ``classwise``, and for a method by trials
        also from a plan and a folder.
    by_trials : bool
        Whether it tries one policy after the other, each by itself.
    classwise : bool
        Whether it is class-wise even if not asked for.
    fixed : mapping of str to object
        Settings that make it what it is.
    paper : mapping of str to object
        Settings of the preset ``"paper"``.
    """

    summary: str
    settings: type
    make: Callable[..., Any]
    by_trials: bool = False
    classwise: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)

    def driver(
        self,
        problem: Problem,
        settings: Mapping[str, Any],
        plan: Plan,
        engine: Engine,
        *,
        classwise: bool,
        folder: Path | None = None,
        resume: bool = False,
        **receivers: Any,
    ) -> Driver:
        """Make what runs a search.

        Parameters
        ----------
        problem : Problem
            What to search on.
        settings : mapping of str to object
            Result of `complete`.
        plan : Plan
            How long, and what else.
        engine : Engine
            Where trials are done.
        classwise : bool
            Whether each class gets a policy of its own.
        folder : Path | None
            Where to keep checkpoints; None keeps none.
        resume : bool
            Whether to go on with what an earlier process has begun.
        **receivers : callable
            ``on_event`` and ``on_training`` of the driver.

        Returns
        -------
        Driver
            Ready to run.
        """
        chosen = self.settings(**settings)
        if self.by_trials:
            search = self.make(
                problem, chosen, classwise=classwise, plan=plan, folder=folder, resume=resume
            )
            return TrialDriver(problem, search, plan, engine, folder=folder, **receivers)
        searcher = self.make(problem, chosen, classwise=classwise)
        return SearchDriver(problem, searcher, plan, folder=folder, **receivers)

    def check_budget(self, budget: int, settings: Mapping[str, Any]) -> int:
        """Refuse a budget that is not enough for anything.

        Parameters
        ----------
        budget : int
            Epochs or trials.
        settings : mapping of str to object
            Result of `complete`.

        Returns
        -------
        int
            The budget.
        """
        n_members = settings.get("n_members", 1)
        if check_positive("budget", budget) < n_members:
            raise ValueError(
                f"`budget` must be at least `n_members`, {n_members} trials, got {budget}."
            )
        return int(budget)

    def log10_policies(self, driver: Driver, settings: Mapping[str, Any], n_rows: int) -> float:
        """Say how many policies there are to choose from.

        Parameters
        ----------
        driver : Driver
            Result of `driver`.
        settings : mapping of str to object
            Result of `complete`.
        n_rows : int
            How many classes have a policy of their own.

        Returns
        -------
        float
            Their number as a power of ten.
        """
        if isinstance(driver, TrialDriver):
            return driver.search.log10_policies
        shape = (settings["n_subpolicies"], settings["n_stages"], n_rows)
        return PolicySpace(len(driver.problem.pool), *shape).log10_size

    def complete(
        self, options: Mapping[str, Any], *, preset: str | None, seed: int
    ) -> dict[str, Any]:
        """Put preset, what the method fixes and what the user wants together.

        Parameters
        ----------
        options : mapping of str to object
            Settings that the user gave.
        preset : 'paper' | None
            Where to start from; None takes the defaults.
        seed : int
            Seed of the search.

        Returns
        -------
        dict of str to object
            Every setting by name.
        """
        if preset not in (None, "paper"):
            raise ValueError(f"`preset` must be 'paper' or None, got {preset!r}.")
        known = [one.name for one in fields(self.settings) if one.name not in self.fixed]
        for name in options:
            if name not in known:
                raise ValueError(
                    f"unknown setting `{name}`{did_you_mean(name, known)}; this method has "
                    f"{', '.join(known)}."
                )
        chosen = {**(self.paper if preset else {}), **self.fixed, **options, "seed": seed}
        made: Any = self.settings(**chosen)
        return {one.name: getattr(made, one.name) for one in fields(self.settings)}


BY_TRAINING = {"judge": "training", "n_folds": 5}
"""Without folds, their number means nothing and cannot be set."""

METHODS: dict[str, Method] = {
    "adda": Method(
        "bilevel gradient, one operation drawn per stage", BilevelSettings, BilevelSearcher,
        paper=PAPER,
    ),
    "cadda": Method(
        "ADDA with a policy for each class", BilevelSettings, BilevelSearcher,
        classwise=True,
        paper=PAPER | {"batch_size": 32},
    ),
    "dada": Method(
        "bilevel gradient, whole sequences of operations drawn", BilevelSettings, BilevelSearcher,
        fixed={"sampling": "subpolicy"},
        paper=PAPER,
    ),
    "faster_autoaugment": Method(
        "augmented windows shall look like real ones to a critic", FasterSettings, FasterSearcher,
    ),
    "autoaugment": Method(
        "each policy is judged by a training; TPE proposes", TrialSettings, StudySearch,
        by_trials=True,
        fixed={"sampler": "tpe", **BY_TRAINING},
        paper={"trials_at_once": 1},
    ),
    "fast_autoaugment": Method(
        "models without augmentation judge augmented windows; TPE proposes",
        TrialSettings, StudySearch,
        by_trials=True,
        fixed={"sampler": "tpe", "judge": "folds", "stack": 1},
        paper={"trials_at_once": 1},
    ),
    "random": Method(
        "each policy is judged by a training; chance proposes", TrialSettings, StudySearch,
        by_trials=True,
        fixed={"sampler": "random", "multivariate": False, **BY_TRAINING},
    ),
    "randaugment": Method(
        "grid over the number of operations and one magnitude", TrialSettings, StudySearch,
        by_trials=True,
        fixed={"sampler": "grid", "multivariate": False, "n_subpolicies": 1, **BY_TRAINING},
    ),
    "population": Method(
        "trainings side by side that copy and change the best policies",
        PopulationSettings, PopulationSearch,
        by_trials=True,
    ),
}  # fmt: skip


def find_method(name: str) -> Method:
    """Look a method up.

    Parameters
    ----------
    name : str
        Its name; case and hyphens do not matter.

    Returns
    -------
    Method
        The method.
    """
    key = name.lower().replace("-", "_")
    if key not in METHODS:
        raise ValueError(
            f"unknown `method` {name!r}{did_you_mean(key, METHODS)}; "
            f"there are {', '.join(METHODS)}."
        )
    return METHODS[key]
