"""What each operation gains alone, over its magnitude.

The grids of the paper's appendix, with which it chose the magnitudes of the manual exploration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

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
from cadda.experiments.study import Job, Names, Planned, Record, Result, Several, Study
from cadda.experiments.tables import Table
from cadda.experiments.training import (
    TrainingConfig,
    check_training,
    fold_of,
    seconds_of,
    train_and_score,
)
from cadda.operations.catalogue import CATALOGUE
from cadda.reporting.figures.gains import plot_gain_curves

__all__ = ["MagnitudesConfig", "MagnitudesStudy"]

Magnitude = Annotated[float, Field(ge=0, le=1)]


class MagnitudesConfig(TrainingConfig):
    """Settings of the study."""

    operations: Planned[Names | None] = None
    """Operations with a magnitude; none: all that mean something on the montage."""
    magnitudes: Planned[Several[Magnitude]] = Field((0.1, 0.3, 0.5, 0.7, 0.9), min_length=1)
    """Magnitudes to try."""
    fraction: float = Field(1.0, gt=0, le=1)
    """Part of the training windows to take; the paper's is the one where gains were largest."""


class MagnitudesStudy(Study[MagnitudesConfig]):
    """A training for each fold, operation and magnitude, and one without augmentation."""

    config_type = MagnitudesConfig
    scales: ClassVar[Mapping[str, Mapping[str, Any]]] = {
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

    def jobs(self, config: MagnitudesConfig, windows: Windows) -> list[Job]:
        check_training(config, windows)
        operations = chosen_operations(windows, config.operations)
        fixed = [name for name in operations if not CATALOGUE[name].has_magnitude]
        if config.operations is not None and fixed:
            raise ValueError(
                f"`operations` must have a magnitude, but {', '.join(fixed)} has none; leave it "
                "out with --set operations=…"
            )
        tried = [
            (name, magnitude)
            for name in operations
            if name not in fixed
            for magnitude in config.magnitudes
        ]
        return [
            {"fold": fold, "operation": name, "magnitude": magnitude}
            for fold in range(config.n_folds)
            for name, magnitude in [(NO_OPERATION, None), *tried]
        ]

    def expected_seconds(self, config: MagnitudesConfig, windows: Windows, job: Job) -> float:
        return seconds_of(config, windows, fraction=config.fraction)

    def run(self, config: MagnitudesConfig, windows: Windows, job: Job) -> Result:
        fold = fold_of(config, windows, job["fold"], fraction=config.fraction)
        return train_and_score(config, fold, single_policy(job["operation"], job["magnitude"]))

    def table(self, records: Sequence[Record]) -> Table:
        found = _gains(records)
        rows = tuple(
            (name, magnitude, CATALOGUE[name].describe(magnitude), *gain_cells(values))
            for name, gains in found.items()
            for magnitude, values in sorted(gains.items())
        )
        note = interval_note(values for gains in found.values() for values in gains.values())
        return Table(
            "Relative gain in balanced accuracy by one operation, over its magnitude",
            ("operation", "magnitude", "that is", *GAIN_COLUMNS),
            rows,
            f"Gain: {note}; {records[0].result['n_train']} training windows.",
        )

    def figure(self, records: Sequence[Record]) -> Figure:
        curves = {_title(name): gain_curve(gains) for name, gains in _gains(records).items()}
        return plot_gain_curves(curves, xlabel="magnitude")


def _gains(records: Sequence[Record]) -> dict[str, dict[float, list[float]]]:
    """Collect the gains of all folds by operation and magnitude."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job, gain in relative_gains(records, within=("fold",)):
        found[job["operation"]][job["magnitude"]].append(gain)
    return found


def _title(name: str) -> str:
    return f"{name.replace('_', ' ')}\n1: {CATALOGUE[name].describe(1.0)}"


STUDY = MagnitudesStudy()
