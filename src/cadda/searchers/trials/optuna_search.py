"""AutoAugment, Fast AutoAugment, RandAugment and random search: trials kept by a study."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from cadda._internal.random import Seeds
from cadda._internal.validation import (
    Count,
    Seed,
    StageCount,
    SubpolicyCount,
    validated_dataclass,
)
from cadda.compute import Engine
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.runner import SearchContext
from cadda.searchers.trials.encoding import GridEncoding, PolicyEncoding, Values
from cadda.searchers.trials.optuna_store import Sampling, StudyMemory
from cadda.searchers.trials.protocol import (
    Evaluator,
    FoldModel,
    HeldOutEvaluator,
    Outcome,
    Proposal,
    TrainingEvaluator,
    TrialSearch,
    train_fold,
)
from cadda.training.checkpoint import (
    load_checkpoint,
    model_digest,
    restoring,
    save_checkpoint,
)
from cadda.training.optimizers import name_of
from cadda.training.problem import Problem

__all__ = ["StudySearch", "TrialSettings", "make_encoding", "make_folds"]


@validated_dataclass
class TrialSettings:
    """How to search by trials that an Optuna study keeps.

    Parameters
    ----------
    sampler : 'tpe' | 'random' | 'grid'
        Source of policies: a tree-structured Parzen estimator that learns from earlier trials,
        random draws, or RandAugment's grid.
    evaluator : 'training' | 'held-out'
        How a policy is evaluated: by training a model from scratch with it, or by the loss of
        models trained once without augmentation on augmented windows that they have not seen.
    n_folds : int
        Number of models of the evaluator ``"held-out"``; each is trained without one fold of the
        training subjects.
    multivariate : bool
        Whether the estimator looks at all values of a policy together; the paper's does not.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy; in the grid, the largest number of operations in a row.
    trials_at_once : int
        How many trials are under way when the next policy is proposed. It belongs to the search
        and not to the engine, so that the result does not depend on the number of workers; more
        workers than this are idle.
    stack : int
        How many models are trained together as one stack of weights: quicker for small networks
        such as ``lenet1``, which have neither dropout nor batch normalisation. Their policies are
        proposed together, and one worker trains them: several need as many times ``stack`` trials
        at once.
    storage : str | None
        URL of the database of the Optuna study; None keeps it in the run folder, or in memory.
    study_name : str
        Name of the Optuna study.
    seed : int
        Decides everything that is random.
    """

    sampler: Literal["tpe", "random", "grid"] = "tpe"
    evaluator: Literal["training", "held-out"] = "training"
    n_folds: Annotated[int, Field(ge=2)] = 5
    multivariate: bool = False
    n_subpolicies: SubpolicyCount = 5
    n_stages: StageCount = 2
    trials_at_once: Count = 4
    stack: Count = 1
    storage: str | None = None
    study_name: str = "cadda"
    seed: Seed = 0


class StudySearch(TrialSearch):
    """Proposes policies by a sampler or from a grid; an Optuna study keeps the trials.

    The proposal of a trial is a function of the seed and of the outcomes told before it was asked
    for, and these are always the same.
    """

    def __init__(self, problem: Problem, settings: TrialSettings, context: SearchContext) -> None:
        self.problem, self.settings = problem, settings
        self.budget, self.files = context.budget, context.files
        self.seeds = Seeds(settings.seed)
        self.encoding = make_encoding(problem, settings, classwise=context.classwise)
        file = None if self.files is None else self.files.study
        self._memory = StudyMemory(
            settings.storage or file,
            settings.study_name,
            self.encoding.choices(),
            resume=context.resume,
            # A run folder has a configuration of its own that tells searches from each other.
            identity=None if settings.storage is None else self._identity(),
        )
        self._values: list[Values] = [trial.params for trial in self._memory.trials]
        self._sampling = None
        if settings.sampler != "grid":
            self._sampling = Sampling(
                self._memory,
                settings.sampler,
                multivariate=settings.multivariate,
                trials_at_once=settings.trials_at_once,
            )

    def _identity(self) -> dict[str, str]:
        """Return what tells the trials from those of another search, by argument."""
        problem, training = self.problem, self.budget.trial_training
        shown = asdict(training) | {"optimizer": name_of(training.optimizer)}
        return {
            "data": str(problem.identity["data"]),
            "model": model_digest(problem.new_model(0)),
            "training": repr(sorted(shown.items())),
            "seed": str(self.settings.seed),
        }

    @property
    def n_trials(self) -> int:
        """Number of trials of the whole search: at most the number of policies."""
        if isinstance(self.encoding, GridEncoding) and len(self.encoding.rows) == 1:
            return min(self.budget.n_epochs, self.encoding.n_cells)
        return self.budget.n_epochs

    @property
    def stack(self) -> int:
        return self.settings.stack

    @property
    def outcomes(self) -> list[Outcome]:
        return self._memory.outcomes

    def make_evaluator(self, engine: Engine) -> Evaluator:
        if self.settings.evaluator == "training":
            return TrainingEvaluator(self.problem, self.budget.trial_training)
        seed = self.seeds.integer("judge")
        return HeldOutEvaluator(self.problem, self._trained_folds(engine), seed)

    def n_required(self, number: int) -> int:
        end_of_stack = (number // self.stack + 1) * self.stack
        return max(0, end_of_stack - max(self.settings.trials_at_once, self.stack))

    def ask(self, number: int) -> Proposal:
        if number == len(self._values):
            values = self._propose(number)
            self._memory.begin(values)
            self._values.append(values)
        return Proposal(self.policy(number))

    def tell(self, number: int, outcome: Outcome) -> None:
        self._memory.finish(number, outcome)
        if self._sampling is not None:
            self._sampling.tell(number, outcome)

    def policy(self, number: int) -> PolicySpec:
        # The Optuna study keeps numbers to their last digit, 0.30000000000000004 and the like: the
        # estimator must find the same numbers again after an interruption.
        values = self._values[number].items()
        return self.encoding.decode(
            {key: round(value, 6) if isinstance(value, float) else value for key, value in values}
        )

    def _propose(self, number: int) -> Values:
        if self._sampling is not None:
            return self._sampling.propose(self.seeds.integer("proposal", trial=number))
        assert isinstance(self.encoding, GridEncoding)  # noqa: S101
        # Each class goes through the whole grid, in an order of its own and another each time.
        turn = number // self.encoding.n_cells
        order = {
            row: torch.randperm(
                self.encoding.n_cells, generator=self.seeds.stream("grid", row=i, turn=turn)
            ).tolist()
            for i, row in enumerate(self.encoding.rows)
        }
        return self.encoding.cell(number, order)

    def _trained_folds(self, engine: Engine) -> tuple[FoldModel, ...]:
        folds = make_folds(self.problem, self.settings.n_folds, seed=self.seeds.integer("folds"))
        path = None if self.files is None else self.files.folds
        fingerprint = {"n_folds": len(folds), "n_windows": len(self.problem.train.x)}
        if path is not None and path.exists():
            saved = load_checkpoint(path, fingerprint)
            with restoring(path):
                for weights in saved["weights"]:
                    self.problem.new_model(0).load_state_dict(weights)
                return tuple(
                    FoldModel(weights, fold)
                    for weights, fold in zip(saved["weights"], folds, strict=True)
                )
        problem, training = engine.share(self.problem), self.budget.trial_training
        seeds = [self.seeds.integer("fold", fold=i) for i in range(len(folds))]
        futures = [
            engine.submit(train_fold, problem, training, held_out, seed)
            for held_out, seed in zip(folds, seeds, strict=True)
        ]
        trained = tuple(future.result() for future in futures)
        if path is not None:
            save_checkpoint(path, {"weights": [model.weights for model in trained]}, fingerprint)
        return trained


def make_folds(problem: Problem, n_folds: int, *, seed: int) -> list[Tensor]:
    """Split training windows into folds of about the same size; same seed, same folds.

    Folds have whole subjects, or windows of each class where there are too few subjects.
    """
    by_subject = len(set(problem.train.subject)) >= n_folds
    groups = problem.train.subject if by_subject else tuple(map(str, range(len(problem.train.x))))
    members: dict[str, list[int]] = defaultdict(list)
    for window, group in enumerate(groups):
        members[group].append(window)
    names = list(members)
    generator = Seeds(seed).stream("folds")
    order = [names[i] for i in torch.randperm(len(names), generator=generator).tolist()]
    # The largest subjects first, single windows class by class: then folds come out even.
    order.sort(key=lambda name: (-len(members[name]), int(problem.train.y[members[name][0]])))
    folds: list[list[int]] = [[] for _ in range(n_folds)]
    for name in order:
        min(folds, key=len).extend(members[name])
    return [torch.tensor(sorted(fold)) for fold in folds]


def make_encoding(
    problem: Problem, settings: TrialSettings, *, classwise: bool
) -> PolicyEncoding | GridEncoding:
    """Make the encoding that a sampler needs."""
    class_names = problem.class_names if classwise else None
    if settings.sampler == "grid":
        return GridEncoding(problem.pool, class_names, settings.n_stages)
    return PolicyEncoding(problem.pool, class_names, settings.n_subpolicies, settings.n_stages)
