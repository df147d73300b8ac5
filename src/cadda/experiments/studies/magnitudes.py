"""The gain from each operation alone, by magnitude.

The grids of the paper's appendix, with which it chose the magnitudes of the manual exploration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

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
from cadda.experiments.operations import NO_OPERATION, chosen_operations, single_policy
from cadda.experiments.study import Names, PlanOnly, Record, Several, Study
from cadda.experiments.tables import ResultTable
from cadda.experiments.training import (
    OperationJob,
    TrainingConfig,
    TrainingScores,
    check_training,
    make_fold,
    train_and_score,
    training_seconds,
)
from cadda.operations.catalogue import CATALOGUE
from cadda.reporting.figures.gains import plot_gain_curves

__all__ = ["MagnitudesConfig", "MagnitudesStudy"]

Magnitude = Annotated[float, Field(ge=0, le=1)]


class MagnitudesConfig(TrainingConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations with a magnitude; none: all that apply to the montage."""
    magnitudes: PlanOnly[Several[Magnitude]] = Field((0.1, 0.3, 0.5, 0.7, 0.9), min_length=1)
    """Magnitudes to try."""
    fraction: float = Field(1.0, gt=0, le=1)
    """Fraction of the training windows; the paper's is the one with the largest gains."""


Records = Sequence[Record[OperationJob, TrainingScores]]


class MagnitudesStudy(Study[MagnitudesConfig, OperationJob, TrainingScores]):
    """A model for each fold, operation and magnitude, and one without augmentation."""

    config_type = MagnitudesConfig
    job_type = OperationJob
    result_type = TrainingScores
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {
            "n_subjects": 6,
            "n_windows": 20,
            "model": "shallow",
            "operations": ("time_mask", "gaussian_noise"),
            "magnitudes": (0.2, 0.8),
            "n_folds": 2,
            "max_epochs": 4,
            "batch_size": 32,
        },
        "cpu": {
            "n_subjects": 24,
            "n_windows": 40,
            "valid": 0.125,
            "test": 0.4,
            "n_train": 100,
            "max_epochs": 100,
            "patience": 15,
        },
        "paper": {
            "n_subjects": 83,
            "n_windows": 900,
            "magnitudes": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
            "fraction": 2.0**-11,
        },
    }

    def jobs(self, config: MagnitudesConfig, windows: Windows) -> list[OperationJob]:
        check_training(config, windows)
        operations = chosen_operations(windows, config.operations)
        fixed = [name for name in operations if not CATALOGUE[name].has_magnitude]
        if config.operations is not None and fixed:
            raise ValueError(
                f"`operations` must have a magnitude, but {', '.join(fixed)} has none."
            )
        tried = [
            (name, magnitude)
            for name in operations
            if name not in fixed
            for magnitude in config.magnitudes
        ]
        return [
            OperationJob(fold=fold, operation=name, magnitude=magnitude)
            for fold in range(config.n_folds)
            for name, magnitude in [(NO_OPERATION, None), *tried]
        ]

    def expected_seconds(
        self, config: MagnitudesConfig, windows: Windows, job: OperationJob
    ) -> float:
        return training_seconds(config, windows, fraction=config.fraction)

    def run(self, config: MagnitudesConfig, windows: Windows, job: OperationJob) -> TrainingScores:
        fold = make_fold(config, windows, job.fold, fraction=config.fraction)
        return train_and_score(config, fold, single_policy(job.operation, job.magnitude))

    def table(self, records: Records) -> ResultTable:
        by_operation = _gains(records)
        rows = tuple(
            (name, magnitude, CATALOGUE[name].describe(magnitude), *gain_cells(values))
            for name, gains in by_operation.items()
            for magnitude, values in sorted(gains.items())
        )
        note = interval_note(
            values for gains in by_operation.values() for values in gains.values()
        )
        return ResultTable(
            "Relative gain in balanced accuracy by one operation, over its magnitude",
            ("operation", "magnitude", "that is", *GAIN_COLUMNS),
            rows,
            f"Gain: {note}; {records[0].result.n_train} training windows.",
        )

    def figure(self, records: Records) -> Figure:
        curves = {_title(name): gain_curve(gains) for name, gains in _gains(records).items()}
        return plot_gain_curves(curves, xlabel="magnitude")


def _gains(records: Records) -> dict[str, dict[float, list[float]]]:
    """Collect the gains of all folds by operation and magnitude."""
    gains: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job, gain in relative_gains(records, lambda job: job.fold):
        if job.magnitude is not None:
            gains[job.operation][job.magnitude].append(gain)
    return gains


def _title(name: str) -> str:
    return f"{name.replace('_', ' ')}\n1: {CATALOGUE[name].describe(1.0)}"


STUDY = MagnitudesStudy()
