"""Methods and policies against each other on a user's own data, in paired blocks.

A block is a fold and a seed. Each fold holds out other subjects, so that each subject is tested in
one of them. Under all conditions of a block, models start from the same weights and see the same
batches; searches have the training and validation subjects of the block only.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pydantic import Field, field_validator

from cadda._internal.limits import MAX_COUNT
from cadda._internal.random import Seeds
from cadda._internal.text import storable
from cadda.api.policies import policy_named
from cadda.api.prepare import Device, model_for, pick_device, policy_pool, prepare_training
from cadda.data.splits import split_subjects, subject_folds
from cadda.data.windows import Windows
from cadda.experiments.comparison import (
    BlockScores,
    CompareJob,
    Records,
    common_blocks,
    compare_conditions,
)
from cadda.experiments.conditions import (
    Content,
    SearchLimits,
    apply_condition,
    parse_policy,
    read_content,
    variant_of,
)
from cadda.experiments.objects import find_model
from cadda.experiments.operations import chosen_operations
from cadda.experiments.racing import NO_SEARCH
from cadda.experiments.recommendation import comparison_table, recommend, subject_table
from cadda.experiments.study import Added, Names, PlanOnly, ResultTable, Study
from cadda.experiments.training import (
    Fold,
    TrainingConfig,
    fit_fold,
    score_fitted,
    training_seconds,
    training_settings,
)
from cadda.operations.base import Setting
from cadda.operations.own import find_operations
from cadda.reporting.figures.comparison import ComparedGain, plot_comparison
from cadda.searchers.race.blocks import count_windows
from cadda.searchers.registry import find_method
from cadda.training import Samples, predict_logits

__all__ = ["Compare", "CompareConfig"]


class CompareConfig(TrainingConfig):
    """Settings of a comparison."""

    methods: PlanOnly[Names] = Field((NO_SEARCH, "guided", "auto"), min_length=1)
    """Methods by name, policies by file or zoo:NAME, `duplicates`; `none` is always there."""
    n_folds: int = Field(5, ge=2, le=MAX_COUNT)
    """Number of folds by subject; each subject is tested in one of them."""
    n_seeds: PlanOnly[int] = Field(1, ge=1, le=MAX_COUNT)
    """Number of seeds per fold; scores are averaged over them."""
    valid: float = Field(0.2, gt=0, lt=1)
    """Fraction of all subjects for validation, at most half of those outside of the fold."""
    max_seconds: float | None = Field(120.0, gt=0)
    """Most time of each search in seconds; none: the default budget of each method."""
    operations: Names | None = None
    """Operations to choose from, your own as module:Class; none: the default pool."""
    operation_settings: Added[dict[str, dict[str, Setting]] | None] = None
    """Settings of operations that are not the default; those stored in a policy file win."""
    trial_epochs: Added[int | None] = Field(None, ge=1, le=MAX_COUNT)
    """Most epochs of the models that searches try policies with; none: as many as others."""
    device: PlanOnly[Device] = "auto"
    """Where to compute: auto, cpu, cuda or mps."""

    @field_validator("methods")
    @classmethod
    def _with_none(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        odd = next((name for name in names if name != storable(name)), None)
        if odd is not None:
            raise ValueError(f"must be files whose names are UTF-8; rename {Path(odd).name!r}")
        return tuple(dict.fromkeys(names if NO_SEARCH in names else (NO_SEARCH, *names)))


class Compare(Study[CompareConfig, CompareJob, BlockScores]):
    """A job per condition and block."""

    config_type = CompareConfig
    job_type = CompareJob
    result_type = BlockScores
    title = "Balanced accuracy on held-out subjects"
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {
            "methods": (NO_SEARCH, "adda"),
            "max_seconds": 0.2,
            "n_folds": 2,
            "n_subjects": 6,
            "n_windows": 18,
            "max_epochs": 2,
            "model": "shallow",
        },
        "cpu": {},
        "paper": {"max_seconds": 28800.0},
    }

    def jobs(self, config: CompareConfig, windows: Windows) -> list[CompareJob]:
        operations, changed = find_operations(config.operations), config.operation_settings
        known = chosen_operations(windows, operations, changed)
        contents = {
            name: read_content(name, windows.class_names, known) for name in config.methods
        }
        # All seeds of a fold last, so that an interrupted comparison has tested each subject.
        jobs = [
            CompareJob(fold=fold, seed=seed, method=name, policy=content)
            for seed in range(config.n_seeds)
            for fold in range(config.n_folds)
            for name, content in contents.items()
        ]
        self._check(config, self.fold(config, windows, jobs[0]), contents)
        return jobs

    def _check(
        self, config: CompareConfig, fold: Fold, contents: Mapping[str, Content | None]
    ) -> None:
        """Raise an error for a model or a policy that does not fit the data."""
        model = find_model(config.model)
        model_for(model, fold.train, seed=0)
        pick_device(config.device)
        settings = training_settings(config, fold)
        operations = find_operations(config.operations)
        pool = policy_pool(fold.train, operations, config.operation_settings)
        for name, content in contents.items():
            if content is not None:
                with policy_named(name):
                    prepare_training(
                        *(fold.train, fold.valid, settings),
                        model=model,
                        policy=parse_policy(content),
                        pool=pool,
                        device=config.device,
                    )

    def fold(self, config: CompareConfig, windows: Windows, job: CompareJob) -> Fold:
        """Return the data of a block."""
        folds = subject_folds(windows, config.n_folds, seed=config.seed)
        rest, test = next(islice(folds, job.fold, None))
        seed = Seeds(config.seed).integer("block", fold=job.fold, seed=job.seed)
        # A fraction of all subjects, as elsewhere, not of those that are left.
        share = config.valid * len(windows.subjects) / len(rest.subjects)
        train, valid = split_subjects(rest, (min(share, 0.5),), seed=seed)
        return Fold(train, valid, test, seed)

    def expected_seconds(self, config: CompareConfig, windows: Windows, job: CompareJob) -> float:
        training = training_seconds(config, windows)
        variant = variant_of(job.method)
        if variant is None:
            return training
        method = find_method(variant.method)
        if method.default_budget == 1:
            # Nothing is searched, and the models of a probe take about as long as one of these.
            return (1 + method.needs_probe) * training
        n_runs = 1 if method.unit == "epoch" else method.default_budget
        if config.max_seconds is None:
            return (1 + n_runs) * training
        # Others search until the time is up.
        is_over_sooner = method.plans_ahead and n_runs * training < config.max_seconds
        return (n_runs * training if is_over_sooner else config.max_seconds) + training

    def run(self, config: CompareConfig, windows: Windows, job: CompareJob) -> BlockScores:
        fold = self.fold(config, windows, job)
        operations = find_operations(config.operations)
        limits = SearchLimits(
            operations,
            config.max_seconds,
            config.trial_epochs,
            config.operation_settings,
            config.device,
        )
        treatment = apply_condition(job.method, job.policy, config, fold, limits)
        pool = policy_pool(fold.train, operations, config.operation_settings)
        fitted = fit_fold(
            config, treatment.fold, treatment.policy, pool=pool, device=config.device
        )
        test, n_classes = fold.test, windows.n_classes
        predicted = predict_logits(fitted.model, test.signals, n_classes).argmax(1)
        samples = Samples.of(test.signals, test.y, test.subject)
        return BlockScores(
            **score_fitted(fitted, treatment.fold).model_dump(),
            subjects=tuple(sorted(test.subjects)),
            correct=_rows(count_windows(predicted == test.y, samples, n_classes)),
            n_windows=_rows(count_windows(torch.ones(len(test)), samples, n_classes)),
            n_usable=len(fold.train.subjects) + len(fold.valid.subjects),
            level=treatment.level,
            n_entries=treatment.n_entries,
            n_steps=treatment.n_steps,
            seconds=round(treatment.seconds, 2),
            is_undecided=treatment.is_undecided,
            warnings=fitted.warnings,
        )

    def table(self, records: Records) -> ResultTable:
        return comparison_table(self.title, records)

    def details(self, records: Records) -> tuple[ResultTable, ...]:
        return (subject_table(records),)

    def warnings(self, records: Records) -> tuple[str, ...]:
        return tuple(
            f"{record.job.describe()}: {text}"
            for record in records
            for text in record.result.warnings
        )

    def logged(self, job: CompareJob, result: BlockScores) -> Mapping[str, float]:
        return {
            f"{job.method}/{name}": value for name, value in super().logged(job, result).items()
        }

    def figure(self, records: Records) -> Figure:
        scores = common_blocks(records)
        compared = compare_conditions(scores)
        is_decided = len(compared) > 1
        chosen = recommend(compared).name if is_decided else None
        return plot_comparison(
            [
                ComparedGain(item.name, item.accuracy, item.gain.interval, item.by_subject)
                for item in compared
            ],
            plain=NO_SEARCH,
            chosen=chosen,
        )


def _rows(counts: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, counts.tolist()))
