"""Conditions compared with no augmentation in paired blocks, over subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from pydantic import model_validator

from cadda._internal.statistics import Estimate, Numbers, holm, t_test_greater
from cadda.experiments.conditions import Content
from cadda.experiments.racing import NO_SEARCH
from cadda.experiments.study import Record, StudyJob
from cadda.experiments.training import TrainingScores
from cadda.searchers.race.candidates import Level
from cadda.searchers.race.paired import (
    LEVEL,
    AccuracyGain,
    clustered_gain,
    subject_gains,
    within_one_error,
)

__all__ = [
    "BlockScores",
    "CompareJob",
    "Comparison",
    "Records",
    "ScoresByBlock",
    "common_blocks",
    "compare_conditions",
    "subject_accuracies",
    "subjects_of_one_class",
]


class CompareJob(StudyJob):
    """Train and test under one condition in a block, which is a fold and a seed."""

    fold: int
    seed: int
    method: str
    policy: Content | None = None
    """Content of a policy by file; None for a method."""

    def describe(self) -> str:
        return f"{self.method}, fold {self.fold + 1}, seed {self.seed}"


class BlockScores(TrainingScores):
    """Scores of a model, and what it recognises by test subject."""

    subjects: tuple[str, ...]
    """Test subjects, in alphabetical order."""
    correct: tuple[tuple[int, ...], ...]
    """Windows that are recognised, by subject and class."""
    n_windows: tuple[tuple[int, ...], ...]
    """Windows by subject and class."""
    n_usable: int
    """Subjects of the block for training, validation and search."""
    level: Level
    """How complex the policy is."""
    n_entries: int
    """Number of entries of the policy."""
    n_steps: int | None = None
    """Epochs, trials or training runs of the search, if there was one."""
    seconds: float = 0.0
    """Time of the search."""
    is_undecided: bool = False
    """Whether the search ended before its training runs could tell gains from none."""
    warnings: tuple[str, ...] = ()
    """What suggests that the model has learned nothing."""

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        correct, total = np.array(self.correct), np.array(self.n_windows)
        if (
            correct.shape != total.shape
            or correct.ndim != 2
            or len(correct) != len(self.subjects)
            or (correct < 0).any()
            or (correct > total).any()
        ):
            raise ValueError("`correct` must be at most `n_windows`, by subject and class")
        known = total.sum(0) > 0
        recall = correct.sum(0)[known] / total.sum(0)[known]
        if known.all() and not np.isclose(recall.mean(), self.balanced_accuracy, rtol=0):
            raise ValueError("`balanced_accuracy` must be that of `correct` and `n_windows`")
        return self


Records: TypeAlias = Sequence[Record[CompareJob, BlockScores]]
ScoresByBlock: TypeAlias = Mapping[tuple[int, int], BlockScores]
"""Scores under a condition, by fold and seed."""


@dataclass(frozen=True)
class Comparison:
    """A condition compared with no augmentation on the same test subjects.

    The p-value, that of a gain above 0, is adjusted for the number of conditions.
    """

    name: str
    level: Level
    n_entries: int
    accuracy: Estimate
    gain: AccuracyGain
    p_value: float
    is_close: bool  # whether it is at most one standard error worse than the best
    by_subject: tuple[float, ...]  # gain of each subject
    n_undecided: int = 0  # blocks in which the search ended too early
    n_blocks: int = 0

    @property
    def is_undecided(self) -> bool:
        """Whether its search ended too early in every block, so that its gain says nothing."""
        return 0 < self.n_blocks == self.n_undecided

    @property
    def complexity(self) -> tuple[int, int, bool]:
        """Key for sorting, the simplest first."""
        return self.level, self.n_entries, self.name != NO_SEARCH

    @property
    def is_gain(self) -> bool:
        """Whether the gain is distinguishable from 0."""
        return self.p_value < LEVEL


def common_blocks(records: Records) -> dict[str, ScoresByBlock]:
    """Return scores by condition and block, of the blocks that all conditions have finished."""
    scores: dict[str, dict[tuple[int, int], BlockScores]] = {}
    for record in records:
        job = record.job
        scores.setdefault(job.method, {})[job.fold, job.seed] = record.result
    common = sorted(set.intersection(*(set(by_block) for by_block in scores.values())))
    return {name: {key: by_block[key] for key in common} for name, by_block in scores.items()}


def subject_accuracies(by_block: ScoresByBlock) -> dict[str, float]:
    """Return the balanced accuracy of each subject over its own classes, averaged over seeds."""
    values: dict[str, list[float]] = {}
    for block in by_block.values():
        correct, total = np.array(block.correct, dtype=float), np.array(block.n_windows)
        for subject, own in zip(block.subjects, _own_gains(correct, total), strict=True):
            values.setdefault(subject, []).append(float(own))
    return {subject: float(np.mean(each)) for subject, each in values.items()}


def subjects_of_one_class(by_block: ScoresByBlock) -> frozenset[str]:
    """Return subjects whose test windows are all of one class."""
    return frozenset(
        subject
        for block in by_block.values()
        for subject, counts in zip(block.subjects, block.n_windows, strict=True)
        if sum(count > 0 for count in counts) == 1
    )


def compare_conditions(scores: Mapping[str, ScoresByBlock]) -> list[Comparison]:
    """Compare conditions with none, in the blocks that all have; empty without such blocks."""
    if NO_SEARCH not in scores or not scores[NO_SEARCH]:
        return []
    plain = scores[NO_SEARCH]
    total = _mean_over_seeds(plain, [block.n_windows for block in plain.values()])
    correct = np.stack(
        [
            _mean_over_seeds(by_block, [block.correct for block in by_block.values()])
            for by_block in scores.values()
        ]
    )
    gained = correct - correct[list(scores).index(NO_SEARCH)]
    n_train = next(iter(plain.values())).n_usable
    gains = {
        name: clustered_gain(table, total, n_train=n_train)
        for name, table in zip(scores, gained, strict=True)
    }
    close = within_one_error(subject_gains(gained, total))
    p_values = _p_values(gains)
    return [
        Comparison(
            name=name,
            level=max(block.level for block in by_block.values()),
            n_entries=max(block.n_entries for block in by_block.values()),
            accuracy=_accuracy(correct[i], total, n_train),
            gain=gains[name],
            p_value=p_values[name],
            is_close=bool(close[i]),
            by_subject=tuple(_own_gains(gained[i], total).tolist()),
            n_undecided=sum(block.is_undecided for block in by_block.values()),
            n_blocks=len(by_block),
        )
        for i, (name, by_block) in enumerate(scores.items())
    ]


def _accuracy(correct: Numbers, total: Numbers, n_train: int) -> Estimate:
    """Return a balanced accuracy with its interval over subjects, as that of a gain."""
    found = clustered_gain(correct, total, n_train=n_train).interval
    return replace(found, low=0.0) if found.low < 0 else found


def _mean_over_seeds(
    by_block: ScoresByBlock, tables: Iterable[tuple[tuple[int, ...], ...]]
) -> Numbers:
    """Return counts by subject and class; those of a fold are averaged over its seeds."""
    by_fold: dict[int, list[tuple[tuple[int, ...], ...]]] = {}
    for (fold, _), table in zip(by_block, tables, strict=True):
        by_fold.setdefault(fold, []).append(table)
    return np.concatenate([np.mean(group, axis=0) for group in by_fold.values()])


def _p_values(gains: Mapping[str, AccuracyGain]) -> dict[str, float]:
    """Test whether gains are above 0, adjusted for their number; none is not tested."""
    names = [name for name in gains if name != NO_SEARCH]
    values, errors = (
        np.array([getattr(gains[name], field) for name in names]) for field in ("value", "error")
    )
    adjusted = holm(t_test_greater(values, errors, gains[NO_SEARCH].n_subjects - 1))
    return {NO_SEARCH: 1.0} | dict(zip(names, adjusted.tolist(), strict=True))


def _own_gains(gained: Numbers, total: Numbers) -> Numbers:
    """Return the gain, or the accuracy, of each subject over the classes that it has."""
    shares = np.divide(gained, total, out=np.zeros_like(gained), where=total > 0)
    return np.asarray(shares.sum(-1) / (total > 0).sum(-1))
