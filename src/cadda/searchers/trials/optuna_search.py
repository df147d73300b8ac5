"""AutoAugment, Fast AutoAugment, RandAugment and random search: trials that a study keeps."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cadda._internal.random import Seeds
from cadda.compute import Engine
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import Plan
from cadda.searchers.trials.encoding import GridEncoding, PolicyEncoding
from cadda.searchers.trials.evaluators import FoldJudge, TrainedFold, TrainingJudge, train_fold
from cadda.searchers.trials.optuna_store import Sampling, StudyMemory
from cadda.searchers.trials.protocol import Judge, Outcome, Proposal, TrialSearch
from cadda.searchers.trials.settings import TrialSettings
from cadda.training.checkpoint import load_checkpoint, save_checkpoint
from cadda.training.problem import Problem

__all__ = ["StudySearch", "make_folds"]


class StudySearch(TrialSearch):
    """Proposes policies by a sampler or from a grid; an Optuna study is its memory.

    The proposal of a trial is a function of the seed and of the outcomes of those trials that were
    told when it was asked for, and these are always the same ones.

    Parameters
    ----------
    problem : Problem
        What to search on.
    settings : TrialSettings
        How to search.
    classwise : bool
        Whether each class gets a policy of its own.
    plan : Plan
        How many trials, and how each of them trains.
    folder : Path | None
        Where the study and trained folds are kept; None keeps them in memory.
    resume : bool
        Whether to go on with a study that is there already.
    """

    def __init__(
        self,
        problem: Problem,
        settings: TrialSettings,
        *,
        classwise: bool,
        plan: Plan,
        folder: Path | None,
        resume: bool,
    ) -> None:
        self.problem, self.settings, self.plan, self.folder = problem, settings, plan, folder
        self.seeds = Seeds(settings.seed)
        self.encoding = _encoding(problem, settings, classwise=classwise)
        file = None if folder is None else folder / "study.log"
        self._memory = StudyMemory(
            settings.storage or file,
            settings.study_name,
            self.encoding.choices(),
            resume=resume,
        )
        self._values: list[dict[str, Any]] = [one.params for one in self._memory.trials]
        self._sampling = None
        if settings.sampler != "grid":
            self._sampling = Sampling(
                self._memory,
                settings.sampler,
                multivariate=settings.multivariate,
                trials_at_once=settings.trials_at_once,
            )

    @property
    def n_trials(self) -> int:
        """How many trials there will be: no more than there are policies."""
        if isinstance(self.encoding, GridEncoding) and len(self.encoding.rows) == 1:
            return min(self.plan.n_epochs, self.encoding.n_cells)
        return self.plan.n_epochs

    @property
    def log10_policies(self) -> float:
        return self.encoding.log10_size

    @property
    def stack(self) -> int:
        return self.settings.stack

    @property
    def past(self) -> list[Outcome]:
        return self._memory.past

    def judge(self, engine: Engine) -> Judge:
        if self.settings.judge == "training":
            return TrainingJudge(self.problem, self.plan.training)
        return FoldJudge(self.problem, self._trained_folds(engine), self.seeds.integer("judge"))

    def needs(self, number: int) -> int:
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
        # The study keeps numbers to their last digit, 0.30000000000000004 and the like: the
        # estimator must find the same ones again after an interruption.
        values = self._values[number].items()
        return self.encoding.decode(
            {key: round(one, 6) if isinstance(one, float) else one for key, one in values}
        )

    def _propose(self, number: int) -> dict[str, Any]:
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

    def _trained_folds(self, engine: Engine) -> tuple[TrainedFold, ...]:
        folds = make_folds(self.problem, self.settings.n_folds, seed=self.seeds.integer("folds"))
        path = None if self.folder is None else self.folder / "folds.pt"
        fingerprint = {"n_folds": len(folds), "n_windows": len(self.problem.train.x)}
        if path is not None and path.exists():
            weights = load_checkpoint(path, fingerprint)["weights"]
            return tuple(map(TrainedFold, weights, folds))
        problem, training = engine.share(self.problem), self.plan.training
        seeds = [self.seeds.integer("fold", fold=i) for i in range(len(folds))]
        futures = [
            engine.submit(train_fold, problem, training, held_out, seed)
            for held_out, seed in zip(folds, seeds, strict=True)
        ]
        trained = tuple(future.result() for future in futures)
        if path is not None:
            save_checkpoint(path, {"weights": [one.weights for one in trained]}, fingerprint)
        return trained


def _encoding(
    problem: Problem, settings: TrialSettings, *, classwise: bool
) -> PolicyEncoding | GridEncoding:
    class_names = problem.class_names if classwise else None
    if settings.sampler == "grid":
        return GridEncoding(problem.pool, class_names, settings.n_stages)
    return PolicyEncoding(problem.pool, class_names, settings.n_subpolicies, settings.n_stages)


def make_folds(problem: Problem, n_folds: int, *, seed: int) -> list[Tensor]:
    """Deal training windows out, by subject where there are enough subjects.

    Parameters
    ----------
    problem : Problem
        What to search on.
    n_folds : int
        Number of folds.
    seed : int
        Same seed, same folds.

    Returns
    -------
    list of Tensor
        Indices of the windows of each fold, of about as many windows each. With fewer subjects
        than folds, the windows of each class are dealt out.
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
