"""Whether two operations that share the classes between them gain more than either for all.

Section 4 and figure 2 of the paper. Every pair of operations is dealt out to the classes in every
way; the best way by validation is compared, on test subjects, with each operation for all classes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import mean
from typing import Any, ClassVar, TypeAlias

from matplotlib.figure import Figure

from cadda.data.splits import balanced_subset
from cadda.data.windows import Windows
from cadda.experiments.comparisons import GAIN_COLUMNS, gain_cells, interval_note, relative_gain
from cadda.experiments.operations import (
    Magnitudes,
    chosen_operations,
    classwise_policy,
    magnitude_of,
    single_policy,
)
from cadda.experiments.study import Job, Names, Planned, Record, Result, Study
from cadda.experiments.tables import Table
from cadda.experiments.training import (
    TrainingConfig,
    check_training,
    fold_of,
    seconds_of,
    train_and_score,
)
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.text import ALL_CLASSES
from cadda.reporting.figures.classwise import plot_classwise

__all__ = ["ClasswiseGainConfig", "ClasswiseGainStudy"]

CLASSWISE = "class-wise"

Dealt: TypeAlias = dict[str, list[Any]]
"""Operation and magnitude by class, or under ``"*"`` for all classes; empty for none."""


class ClasswiseGainConfig(TrainingConfig):
    """Settings of the study."""

    operations: Planned[Names | None] = None
    """Operations; none: all that mean something on the montage."""
    magnitudes: Planned[Magnitudes] = "sleep"
    """sleep or motor-imagery, the best that the authors found; or magnitudes by operation."""
    n_train: int | None = 350
    """Most windows to train on, drawn evenly from the classes; none: all of the others."""


class ClasswiseGainStudy(Study[ClasswiseGainConfig]):
    """A training for each fold and policy, on as many windows of each class."""

    config_type = ClasswiseGainConfig
    scales: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "n_subjects": 6,
            "n_windows": 40,
            "model": "shallow",
            "operations": ("sign_flip", "channel_dropout"),
            "n_folds": 1,
            "max_epochs": 1,
            "batch_size": 32,
        },
        # Three operations instead of nine, three folds instead of ten, 100 windows, not 350.
        "cpu": {
            "n_subjects": 24,
            "n_windows": 40,
            "operations": ("sign_flip", "channel_dropout", "ft_surrogate"),
            "n_folds": 3,
            "n_train": 100,
            "valid": 0.125,
            "test": 0.4,
            "max_epochs": 100,
            "patience": 15,
        },
        "paper": {"n_subjects": 83, "n_windows": 900, "n_folds": 10, "valid": 0.18, "test": 0.1},
    }

    def jobs(self, config: ClasswiseGainConfig, windows: Windows) -> list[Job]:
        check_training(config, balanced_subset(windows, seed=config.seed))
        operations = [
            [name, magnitude_of(name, config.magnitudes)]
            for name in chosen_operations(windows, config.operations)
        ]
        if len(operations) < 2:
            raise ValueError(
                f"`operations` must name at least two, got {operations[0][0]}; change it with "
                "--set operations=…"
            )
        policies = list(_policies(operations, windows.class_names))
        return [
            {"fold": fold, "policy": policy}
            for fold in range(config.n_folds)
            for policy in policies
        ]

    def expected_seconds(self, config: ClasswiseGainConfig, windows: Windows, job: Job) -> float:
        counts = windows.class_counts()
        return seconds_of(config, windows, n_windows=len(counts) * int(counts.min()))

    def run(self, config: ClasswiseGainConfig, windows: Windows, job: Job) -> Result:
        balanced = balanced_subset(windows, seed=config.seed)
        # Windows are replaced under every policy, class-wise or not: the same training for all.
        return train_and_score(
            config, fold_of(config, balanced, job["fold"]), _spec(job["policy"]), copies=0
        )

    def table(self, records: Sequence[Record]) -> Table:
        found, n_classwise = _compare(records)
        words = f": {_in_words(found[-1].policy)}" if n_classwise else ""
        return Table(
            "Relative gain in balanced accuracy, on as many windows of each class",
            ("augmentation", "validation", *GAIN_COLUMNS),
            tuple((one.name, one.validation, *gain_cells(one.gains)) for one in found),
            f"Gain on test subjects: {interval_note(one.gains for one in found)}. Validation: "
            f"mean balanced accuracy over folds, by which the best of {n_classwise} class-wise "
            f"policies was chosen{words}.",
        )

    def figure(self, records: Sequence[Record]) -> Figure:
        found, n_classwise = _compare(records)
        used = {name for name, _ in found[-1].policy.values()} if n_classwise else set()
        shown = [one for one in found if one.name in {CLASSWISE, *used}]
        return plot_classwise(
            {one.name.replace("_", " "): one.f1_gains for one in shown},
            {one.name.replace("_", " "): one.gains for one in shown},
            note=_in_words(found[-1].policy) if n_classwise else "",
        )


@dataclass(frozen=True)
class _Compared:
    """What a policy gains, fold by fold.

    ``f1_gains`` are differences, since a class may have an F1 of 0 without augmentation.
    """

    name: str
    policy: Dealt
    validation: float
    gains: list[float]
    f1_gains: dict[str, list[float]]


def _policies(operations: Sequence[list[Any]], class_names: Sequence[str]) -> Iterator[Dealt]:
    """Give no augmentation, each operation for all, and all ways to deal out each two of them."""
    yield {}
    for one in operations:
        yield {ALL_CLASSES: one}
    for pair in combinations(operations, 2):
        for dealt in product(pair, repeat=len(class_names)):
            if any(one is not dealt[0] for one in dealt):
                yield dict(zip(class_names, dealt, strict=True))


def _spec(policy: Dealt) -> PolicySpec | None:
    if not policy:
        return None
    if ALL_CLASSES in policy:
        return single_policy(*policy[ALL_CLASSES])
    return classwise_policy({name: (one[0], one[1]) for name, one in policy.items()})


def _compare(records: Sequence[Record]) -> tuple[list[_Compared], int]:
    """Compare operations for all classes, and last the best class-wise policy, with nothing.

    The number of class-wise policies that it is the best of comes with them.
    """
    results: dict[str, dict[int, Result]] = defaultdict(dict)
    for record in records:
        results[json.dumps(record.job["policy"])][record.job["fold"]] = record.result
    baseline = {
        fold: one
        for fold, one in results.pop(json.dumps({}), {}).items()
        if one["balanced_accuracy"] > 0
    }
    whole: list[_Compared] = []
    parted: list[_Compared] = []
    for label, by_fold in results.items():
        folds = sorted(set(by_fold) & set(baseline))
        if folds:
            policy = json.loads(label)
            chosen = whole if ALL_CLASSES in policy else parted
            chosen.append(_compared(policy, [(by_fold[f], baseline[f]) for f in folds]))
    if not parted:
        return whole, 0
    # One with fewer folds so far has had an easier or a harder task.
    most = max(len(one.gains) for one in parted)
    complete = [one for one in parted if len(one.gains) == most]
    return [*whole, max(complete, key=lambda one: one.validation)], len(complete)


def _compared(policy: Dealt, pairs: Sequence[tuple[Result, Result]]) -> _Compared:
    gains = [
        relative_gain(one["balanced_accuracy"], none["balanced_accuracy"]) for one, none in pairs
    ]
    f1_gains = {
        name: [one["f1_per_class"][name] - none["f1_per_class"][name] for one, none in pairs]
        for name in pairs[0][0]["f1_per_class"]
    }
    return _Compared(
        name=policy[ALL_CLASSES][0] if ALL_CLASSES in policy else CLASSWISE,
        policy=policy,
        validation=mean(one["valid_balanced_accuracy"] for one, _ in pairs),
        gains=gains,
        f1_gains=f1_gains,
    )


def _in_words(policy: Dealt) -> str:
    """Say which operation which classes get."""
    classes: dict[str, list[str]] = defaultdict(list)
    for name, (operation, _) in policy.items():
        classes[operation].append(name)
    return "; ".join(f"{one.replace('_', ' ')} for {', '.join(of)}" for one, of in classes.items())


STUDY = ClasswiseGainStudy()
