"""What a search is asked for, after all arguments were checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from cadda._internal.jsonlines import JsonObject
from cadda._internal.text import storable
from cadda._internal.validation import check_positive, check_seed, check_whole
from cadda._version import __version__
from cadda.compute import check_engine
from cadda.compute.automatic import automatic_engine
from cadda.data.splits import Split
from cadda.operations.own import OwnOperation
from cadda.policies.spec.provenance import Provenance
from cadda.probing.probe_result import ProbeResult
from cadda.probing.probed_pool import PoolChange, probed_pool
from cadda.reporting.records import Reading
from cadda.runs.folder import DataSource, SearchConfig
from cadda.searchers.events import SearchStart
from cadda.searchers.method import SearchMethod
from cadda.searchers.registry import find_method
from cadda.searchers.retraining import SearchBudget
from cadda.searchers.runner import SearchContext, SearchRunner
from cadda.searchers.warnings import check_pool, check_problem
from cadda.training import Problem, TrainingSettings

__all__ = ["SearchRequest"]


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A search that can be run."""

    problem: Problem
    name: str  # of the method
    method: SearchMethod[Any]  # has settings of a type that only the method itself knows
    settings: Any
    classwise: bool
    budget: SearchBudget
    seed: int
    engine: str
    data: str | None = None
    reading: Reading | None = None
    test_subjects: tuple[str, ...] = ()
    own_operations: tuple[OwnOperation, ...] = ()
    change: PoolChange | None = None  # of the operations, by a probe
    notes: tuple[str, ...] = field(default=())  # on the operations, a sentence each

    @classmethod
    def make(
        cls,
        problem: Problem,
        *,
        method: str = "auto",
        classwise: bool | None = None,
        budget: int | None = None,
        max_seconds: float | None = None,
        retrain_every: int | None = None,
        retrain: bool = True,
        baseline: bool = True,
        training: TrainingSettings | None = None,
        trial_epochs: int | None = None,
        preset: Literal["paper"] | None = None,
        seed: int = 0,
        engine: str = "auto",
        data: str | None = None,
        reading: Reading | None = None,
        test_subjects: tuple[str, ...] = (),
        own_operations: tuple[OwnOperation, ...] = (),
        **settings: Any,
    ) -> SearchRequest:
        """Check the arguments of `cadda.search`, so that none can spoil its result later.

        Test subjects and places of own operations are for the record only.
        """
        chosen = find_method(method)
        budget = chosen.default_budget if budget is None else check_whole("budget", budget, 1)
        own = chosen.resolve_settings(settings, preset=preset, seed=seed)
        check_problem(problem, takes_turns=chosen.takes_turns)
        if chosen.needs_probe:
            check_pool(problem)
        chosen.check(problem, own)
        return cls(
            problem=problem,
            name=method,
            method=chosen,
            settings=own,
            classwise=_is_classwise(classwise, chosen, method),
            budget=SearchBudget(
                n_epochs=chosen.check_budget(budget, own),
                max_seconds=None
                if max_seconds is None
                else check_positive("max_seconds", max_seconds),
                retrain_at=_retrain_at(budget, retrain_every, at_end=retrain, baseline=baseline),
                training=training or TrainingSettings(seed=seed),
                trial_epochs=_check_trial_epochs(trial_epochs, chosen, method),
            ),
            seed=check_seed(seed),
            engine=_pick_engine(engine, chosen.max_parallel_trials(own), method, problem, budget),
            data=None if data is None else storable(str(data)),
            reading=reading,
            test_subjects=test_subjects,
            own_operations=own_operations,
        )

    def with_probe(self, probe: ProbeResult | None) -> SearchRequest:
        """Restrict the operations to what a probe and the method allow."""
        problem, change = self.problem, None
        # A method that builds on the probe reads it itself.
        if probe is not None and not self.method.needs_probe:
            pool, change = probed_pool(problem.pool, probe)
            problem = replace(problem, make_pool=lambda: pool)
        problem, notes = self.method.restrict(problem)
        check_pool(problem)
        if probe is not None and self.method.needs_probe and not probe.is_useful:
            notes = (probe.summary().rstrip("."), *notes)
        if change is not None:
            notes = (change.note, *notes)
        return replace(self, problem=problem, change=change, notes=notes)

    @property
    def provenance(self) -> Provenance:
        """Where the policy comes from."""
        return Provenance(
            method=self.name,
            seed=self.seed,
            data=self.data,
            package_version=__version__,
            preprocessing=None if self.reading is None else self.reading.preprocessing,
        )

    @property
    def logged(self) -> JsonObject:
        """What experiment trackers get."""
        # The address of a database may contain a password.
        own = {name: value for name, value in asdict(self.settings).items() if name != "storage"}
        return {
            "method": self.name,
            "classwise": self.classwise,
            "model": self.problem.description.model,
            "budget": self.budget.n_epochs,
            "seed": self.seed,
            "data": self.data,
            **own,
        }

    def config(self) -> SearchConfig:
        """Return the configuration that the run folder keeps."""
        problem = self.problem
        parts = (problem.train, problem.valid)
        train, valid = (tuple(dict.fromkeys(part.subject)) for part in parts)
        return SearchConfig(
            data=DataSource(self.data, problem.train.digest, problem.valid.digest),
            reading=self.reading,
            method=self.name,
            classwise=self.classwise,
            model=problem.description.model,
            operations=problem.pool.names,
            seed=self.seed,
            settings=asdict(self.settings),
            budget=self.budget,
            split=Split(train, valid, self.test_subjects),
            probe=self.change,
            own_operations=self.own_operations,
        )

    def start_event(self, runner: SearchRunner, context: SearchContext) -> SearchStart:
        """Return what is shown before the search starts."""
        problem, own, limit = self.problem, self.settings, self.budget.max_seconds
        size = self.method.log10_policies(problem, own, classwise=self.classwise)
        return SearchStart(
            method=self.name,
            classwise=self.classwise,
            n_epochs=runner.n_epochs,
            epoch=runner.epoch,
            operations=problem.pool.names,
            class_names=problem.class_names,
            log10_policies=size,
            warnings=self.method.start_warnings(problem, own, context),
            unit=self.method.unit,
            notes=self.notes,
            max_seconds=None if limit is None else max(0.0, limit - runner.probe_seconds),
            settings=problem.pool.settings,
        )


def _is_classwise(asked: bool | None, chosen: SearchMethod[Any], method: str) -> bool:  # noqa: FBT001
    if asked is not None and chosen.decides_classes:
        raise ValueError(
            f"`classwise` must be None for {method}, which decides that itself, got {asked}."
        )
    if asked is False and chosen.classwise:
        raise ValueError(
            f"`classwise` must not be False for {method}, which has a policy for each class; for "
            "one policy for all classes, use `method`='adda'."
        )
    return chosen.classwise if asked is None else asked


def _check_trial_epochs(n: int | None, chosen: SearchMethod[Any], method: str) -> int | None:
    if n is not None and not chosen.trains_trials:
        raise ValueError(
            f"`trial_epochs` must be None for {method}, which does not train a model for each "
            f"policy that it tries, got {n}."
        )
    return None if n is None else check_whole("trial_epochs", n, 1)


def _pick_engine(
    engine: str, max_parallel_trials: int | None, method: str, problem: Problem, budget: int
) -> str:
    """Return the engine of a search; ``"auto"`` uses processes where they pay."""
    if engine != "auto":
        if check_engine(engine) != "serial" and max_parallel_trials is None:
            raise ValueError(
                f"`engine` must be 'serial' for {method}, which is sequential, got {engine!r}; "
                "methods by trials, such as autoaugment, can use other engines."
            )
        return engine
    n_samples = problem.train.x.numel() * budget
    return automatic_engine(max_parallel_trials or 1, n_samples, problem.device.type)


def _retrain_at(
    budget: int, every: int | None, *, at_end: bool, baseline: bool
) -> tuple[int, ...]:
    first = (0,) if baseline else ()
    if every is None:
        return (*first, budget) if at_end else first
    step = check_whole("retrain_every", every, 1)
    return (*first, *range(step, budget, step), budget)
