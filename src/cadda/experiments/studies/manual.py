"""The gain from each operation alone, by size of the training set.

Figure 3 of the paper (Sleep Physionet), and its counterpart in the appendix (MASS).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import ClassVar

from matplotlib.figure import Figure
from pydantic import Field

from cadda.data.windows import Windows
from cadda.experiments.comparisons import (
    GAIN_COLUMNS,
    gain_cells,
    gain_curve,
    interval_note,
    relative_gains,
)
from cadda.experiments.operations import (
    NO_OPERATION,
    Magnitudes,
    chosen_operations,
    magnitude_of,
    single_policy,
)
from cadda.experiments.study import Names, PlanOnly, Record, Study
from cadda.experiments.tables import Cell, ResultTable
from cadda.experiments.training import (
    OperationJob,
    TrainingConfig,
    TrainingScores,
    check_training,
    make_fold,
    train_and_score,
    training_seconds,
)
from cadda.reporting.figures.gains import plot_gain_curves

__all__ = ["ManualConfig", "ManualJob", "ManualStudy"]


class ManualConfig(TrainingConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations; none: all that apply to the montage."""
    magnitudes: PlanOnly[Magnitudes] = "sleep"
    """sleep or motor-imagery, the best of the authors; or magnitudes by operation."""
    n_fractions: PlanOnly[int] = Field(4, ge=1)
    """Sizes of the training set: all of it, a half, a quarter …"""


class ManualJob(OperationJob):
    """Train with one operation on a fraction of the training windows of a fold."""

    fraction: float


Records = Sequence[Record[ManualJob, TrainingScores]]


class ManualStudy(Study[ManualConfig, ManualJob, TrainingScores]):
    """A model for each fold, size and operation, and one without augmentation."""

    config_type = ManualConfig
    job_type = ManualJob
    result_type = TrainingScores
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {
            "n_subjects": 6,
            "n_windows": 20,
            "model": "shallow",
            "operations": ("sign_flip", "time_mask"),
            "n_fractions": 2,
            "n_folds": 2,
            "max_epochs": 4,
            "batch_size": 32,
        },
        "cpu": {
            "n_subjects": 24,
            "n_windows": 40,
            "valid": 0.125,
            "test": 0.4,
            "n_train": 200,
            "n_fractions": 3,
            "max_epochs": 100,
            "patience": 15,
        },
        "paper": {"n_subjects": 83, "n_windows": 900, "n_fractions": 12},
    }

    def jobs(self, config: ManualConfig, windows: Windows) -> list[ManualJob]:
        check_training(config, windows)
        operations = {
            name: magnitude_of(name, config.magnitudes)
            for name in chosen_operations(windows, config.operations)
        }
        return [
            ManualJob(fold=fold, fraction=2.0**-k, operation=name, magnitude=magnitude)
            for fold in range(config.n_folds)
            for k in reversed(range(config.n_fractions))
            for name, magnitude in {NO_OPERATION: None, **operations}.items()
        ]

    def expected_seconds(self, config: ManualConfig, windows: Windows, job: ManualJob) -> float:
        return training_seconds(config, windows, fraction=job.fraction)

    def run(self, config: ManualConfig, windows: Windows, job: ManualJob) -> TrainingScores:
        fold = make_fold(config, windows, job.fold, fraction=job.fraction)
        return train_and_score(config, fold, single_policy(job.operation, job.magnitude))

    def table(self, records: Records) -> ResultTable:
        gains, sizes, scores = _gains(records), _sizes(records), _scores(records)
        rows: list[tuple[Cell, ...]] = []
        for fraction, size in sorted(sizes.items()):
            plain = scores.get((fraction, NO_OPERATION))
            if plain:
                rows.append((size, NO_OPERATION, median(plain), None, None, None, len(plain)))
            cells_by_name = {
                name: gain_cells(by_fraction[fraction])
                for name, by_fraction in gains.items()
                if fraction in by_fraction
            }
            for name, cells in sorted(cells_by_name.items(), key=lambda item: -item[1][0]):
                rows.append((size, name, median(scores[fraction, name]), *cells))
        note = interval_note(
            values for by_fraction in gains.values() for values in by_fraction.values()
        )
        return ResultTable(
            "Relative gain in balanced accuracy by one operation",
            ("windows", "operation", "balanced accuracy", *GAIN_COLUMNS),
            tuple(rows),
            f"Balanced accuracy: median over folds. Gain: {note}.",
        )

    def figure(self, records: Records) -> Figure:
        sizes = _sizes(records)
        curves = {
            name.replace("_", " "): gain_curve({sizes[f]: gains for f, gains in by_size.items()})
            for name, by_size in _gains(records).items()
        }
        return plot_gain_curves(curves, xlabel="training windows", log2=True)


def _gains(records: Records) -> dict[str, dict[float, list[float]]]:
    """Collect the gains of all folds by operation and fraction."""
    collected: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job, gain in relative_gains(records, lambda job: (job.fold, job.fraction)):
        collected[job.operation][job.fraction].append(gain)
    return collected


def _scores(records: Records) -> dict[tuple[float, str], list[float]]:
    """Collect the balanced accuracies of all folds by fraction and operation."""
    collected: dict[tuple[float, str], list[float]] = defaultdict(list)
    for record in records:
        score = record.result.balanced_accuracy
        collected[record.job.fraction, record.job.operation].append(score)
    return collected


def _sizes(records: Records) -> dict[float, int]:
    """Return the number of training windows of each fraction, the median over folds."""
    collected: dict[float, list[int]] = defaultdict(list)
    for record in records:
        collected[record.job.fraction].append(record.result.n_train)
    return {fraction: round(median(sizes)) for fraction, sizes in collected.items()}


STUDY = ManualStudy()
