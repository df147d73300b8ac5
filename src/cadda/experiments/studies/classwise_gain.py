"""Whether giving each class one of two operations gains more than either for all classes.

Section 4 and figure 2 of the paper. Every pair of operations is assigned to the classes in every
way; the best assignment by validation is compared, on test subjects, with each operation for all
classes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import mean
from typing import ClassVar, TypeAlias

from matplotlib.figure import Figure

from cadda.data.splits import balanced_subset
from cadda.data.windows import Windows
from cadda.experiments.operations import (
    GAIN_COLUMNS,
    SCALES,
    Magnitudes,
    chosen_operations,
    classwise_policy,
    gain_cells,
    interval_note,
    magnitude_of,
    relative_gain,
    single_policy,
)
from cadda.experiments.study import Names, PlanOnly, Record, ResultTable, Study, StudyJob
from cadda.experiments.training import (
    TrainingConfig,
    TrainingScores,
    check_training,
    make_fold,
    train_and_score,
    training_seconds,
)
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.figures.gains import plot_classwise

__all__ = ["ClasswiseGainConfig", "ClasswiseGainStudy"]

CLASSWISE = "class-wise"

Choice: TypeAlias = tuple[str, float | None]
"""Operation and magnitude."""
Assignment: TypeAlias = dict[str, Choice]
"""Choices by class, or under ``"*"`` for all classes; empty for no augmentation."""


class ClasswiseGainConfig(TrainingConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations; none: the default pool."""
    magnitudes: PlanOnly[Magnitudes] = "sleep"
    """sleep or motor-imagery, the best of the authors; or magnitudes by operation."""
    n_train: int | None = 350
    """Maximum number of training windows, drawn evenly from the classes; none: no limit."""


class ClasswiseGainJob(StudyJob):
    """Train with one assignment of operations to classes on one fold."""

    fold: int
    policy: Assignment


Records = Sequence[Record[ClasswiseGainJob, TrainingScores]]


class ClasswiseGainStudy(Study[ClasswiseGainConfig, ClasswiseGainJob, TrainingScores]):
    """A model for each fold and policy, on equally many windows of each class."""

    config_type = ClasswiseGainConfig
    job_type = ClasswiseGainJob
    result_type = TrainingScores
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": SCALES["quick"]
        | {
            "n_windows": 40,
            "operations": ("sign_flip", "channel_dropout"),
            "n_folds": 1,
            "max_epochs": 1,
        },
        # Three operations instead of nine, three folds instead of ten, 100 windows, not 350.
        "cpu": SCALES["cpu"]
        | {"operations": ("sign_flip", "channel_dropout", "ft_surrogate"), "n_folds": 3},
        "paper": SCALES["paper"] | {"n_folds": 10, "valid": 0.18, "test": 0.1},
    }

    def jobs(self, config: ClasswiseGainConfig, windows: Windows) -> list[ClasswiseGainJob]:
        check_training(config, balanced_subset(windows, seed=config.seed))
        operations = [
            (name, magnitude_of(name, config.magnitudes))
            for name in chosen_operations(windows, config.operations)
        ]
        if len(operations) < 2:
            raise ValueError(f"`operations` must name at least two, got {operations[0][0]}.")
        policies = list(_policies(operations, windows.class_names))
        return [
            ClasswiseGainJob(fold=fold, policy=policy)
            for fold in range(config.n_folds)
            for policy in policies
        ]

    def expected_seconds(
        self, config: ClasswiseGainConfig, windows: Windows, job: ClasswiseGainJob
    ) -> float:
        counts = windows.class_counts()
        return training_seconds(config, windows, n_windows=len(counts) * int(counts.min()))

    def run(
        self, config: ClasswiseGainConfig, windows: Windows, job: ClasswiseGainJob
    ) -> TrainingScores:
        balanced = balanced_subset(windows, seed=config.seed)
        # Windows are replaced under every policy, class-wise or not, for a fair comparison.
        return train_and_score(
            config, make_fold(config, balanced, job.fold), _spec(job.policy), copies=0
        )

    def table(self, records: Records) -> ResultTable:
        compared, n_classwise = _compare(records)
        best = f": {_describe(compared[-1].policy)}" if n_classwise else ""
        return ResultTable(
            "Relative gain in balanced accuracy, on equally many windows of each class",
            ("augmentation", "validation", *GAIN_COLUMNS),
            tuple((row.name, row.validation, *gain_cells(row.gains)) for row in compared),
            f"Gain on test subjects: {interval_note(row.gains for row in compared)}. Validation: "
            f"mean balanced accuracy over folds, by which the best of {n_classwise} class-wise "
            f"policies was chosen{best}.",
        )

    def figure(self, records: Records) -> Figure:
        compared, n_classwise = _compare(records)
        used = {name for name, _ in compared[-1].policy.values()} if n_classwise else set()
        shown = [row for row in compared if row.name in {CLASSWISE, *used}]
        return plot_classwise(
            {row.name.replace("_", " "): row.f1_gains for row in shown},
            {row.name.replace("_", " "): row.gains for row in shown},
            note=_describe(compared[-1].policy) if n_classwise else "",
        )


@dataclass(frozen=True)
class _Compared:
    """The gains of a policy by fold.

    ``f1_gains`` are differences, since a class may have an F1 of 0 without augmentation.
    """

    name: str
    policy: Assignment
    validation: float
    gains: list[float]
    f1_gains: dict[str, list[float]]


def _policies(operations: Sequence[Choice], class_names: Sequence[str]) -> Iterator[Assignment]:
    """Yield no augmentation, each operation for all, and all ways to assign each two of them."""
    yield {}
    for choice in operations:
        yield {ALL_CLASSES: choice}
    for pair in combinations(operations, 2):
        for assigned in product(pair, repeat=len(class_names)):
            if any(choice is not assigned[0] for choice in assigned):
                yield dict(zip(class_names, assigned, strict=True))


def _spec(policy: Assignment) -> PolicySpec | None:
    if not policy:
        return None
    if ALL_CLASSES in policy:
        return single_policy(*policy[ALL_CLASSES])
    return classwise_policy(policy)


def _compare(records: Records) -> tuple[list[_Compared], int]:
    """Compare operations for all classes, and last the best class-wise policy, with none.

    The number of class-wise policies that it is the best of comes with them.
    """
    results: dict[tuple[tuple[str, Choice], ...], dict[int, TrainingScores]] = defaultdict(dict)
    for record in records:
        results[tuple(record.job.policy.items())][record.job.fold] = record.result
    baseline = {
        fold: scores
        for fold, scores in results.pop((), {}).items()
        if scores.balanced_accuracy > 0
    }
    whole: list[_Compared] = []
    classwise: list[_Compared] = []
    for items, by_fold in results.items():
        folds = sorted(set(by_fold) & set(baseline))
        if folds:
            policy = dict(items)
            group = whole if ALL_CLASSES in policy else classwise
            group.append(_compared(policy, [(by_fold[f], baseline[f]) for f in folds]))
    if not classwise:
        return whole, 0
    # One with fewer folds so far has had an easier or a harder task.
    most = max(len(row.gains) for row in classwise)
    complete = [row for row in classwise if len(row.gains) == most]
    return [*whole, max(complete, key=lambda row: row.validation)], len(complete)


def _compared(
    policy: Assignment, pairs: Sequence[tuple[TrainingScores, TrainingScores]]
) -> _Compared:
    return _Compared(
        name=policy[ALL_CLASSES][0] if ALL_CLASSES in policy else CLASSWISE,
        policy=policy,
        validation=mean(scores.valid_balanced_accuracy for scores, _ in pairs),
        gains=[
            relative_gain(scores.balanced_accuracy, baseline.balanced_accuracy)
            for scores, baseline in pairs
        ],
        f1_gains={
            name: [
                scores.f1_per_class[name] - baseline.f1_per_class[name]
                for scores, baseline in pairs
            ]
            for name in pairs[0][0].f1_per_class
        },
    )


def _describe(policy: Assignment) -> str:
    """Describe which classes get which operation."""
    classes: dict[str, list[str]] = defaultdict(list)
    for name, (operation, _) in policy.items():
        classes[operation].append(name)
    return "; ".join(
        f"{operation.replace('_', ' ')} for {', '.join(names)}"
        for operation, names in classes.items()
    )
