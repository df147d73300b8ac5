"""What each operation gains alone, over the size of the training set.

Figure 3 of the paper (Sleep Physionet), and its twin in the appendix (MASS).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, ClassVar

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
from cadda.experiments.study import Job, Names, Planned, Record, Result, Study
from cadda.experiments.tables import Cell, Table
from cadda.experiments.training import (
    TrainingConfig,
    check_training,
    fold_of,
    seconds_of,
    train_and_score,
)
from cadda.reporting.figures.gains import plot_gain_curves

__all__ = ["ManualConfig", "ManualStudy"]


class ManualConfig(TrainingConfig):
    """Settings of the study."""

    operations: Planned[Names | None] = None
    """Operations; none: all that mean something on the montage."""
    magnitudes: Planned[Magnitudes] = "sleep"
    """sleep or motor-imagery, the best that the authors found; or magnitudes by operation."""
    n_fractions: Planned[int] = Field(4, ge=1)
    """Sizes of the training set: all of it, a half, a quarter …"""


class ManualStudy(Study[ManualConfig]):
    """A training for each fold, size and operation, and one without augmentation."""

    config_type = ManualConfig
    scales: ClassVar[Mapping[str, Mapping[str, Any]]] = {
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

    def jobs(self, config: ManualConfig, windows: Windows) -> list[Job]:
        check_training(config, windows)
        operations = {
            name: magnitude_of(name, config.magnitudes)
            for name in chosen_operations(windows, config.operations)
        }
        return [
            {"fold": fold, "fraction": 2.0**-k, "operation": name, "magnitude": magnitude}
            for fold in range(config.n_folds)
            for k in reversed(range(config.n_fractions))
            for name, magnitude in {NO_OPERATION: None, **operations}.items()
        ]

    def expected_seconds(self, config: ManualConfig, windows: Windows, job: Job) -> float:
        return seconds_of(config, windows, fraction=job["fraction"])

    def run(self, config: ManualConfig, windows: Windows, job: Job) -> Result:
        fold = fold_of(config, windows, job["fold"], fraction=job["fraction"])
        return train_and_score(config, fold, single_policy(job["operation"], job["magnitude"]))

    def table(self, records: Sequence[Record]) -> Table:
        gains, sizes, scores = _gains(records), _sizes(records), _scores(records)
        rows: list[tuple[Cell, ...]] = []
        for fraction, size in sorted(sizes.items()):
            plain = scores.get((fraction, NO_OPERATION))
            if plain:
                rows.append((size, NO_OPERATION, median(plain), None, None, None, len(plain)))
            found = {
                name: gain_cells(one[fraction]) for name, one in gains.items() if fraction in one
            }
            for name, cells in sorted(found.items(), key=lambda item: -item[1][0]):
                rows.append((size, name, median(scores[fraction, name]), *cells))
        note = interval_note(values for one in gains.values() for values in one.values())
        return Table(
            "Relative gain in balanced accuracy by one operation",
            ("windows", "operation", "balanced accuracy", *GAIN_COLUMNS),
            tuple(rows),
            f"Balanced accuracy: median over folds. Gain: {note}.",
        )

    def figure(self, records: Sequence[Record]) -> Figure:
        sizes = _sizes(records)
        curves = {
            name.replace("_", " "): gain_curve({sizes[f]: values for f, values in one.items()})
            for name, one in _gains(records).items()
        }
        return plot_gain_curves(curves, xlabel="training windows", log2=True)


def _gains(records: Sequence[Record]) -> dict[str, dict[float, list[float]]]:
    """Collect the gains of all folds by operation and fraction."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job, gain in relative_gains(records, within=("fold", "fraction")):
        found[job["operation"]][job["fraction"]].append(gain)
    return found


def _scores(records: Sequence[Record]) -> dict[tuple[float, str], list[float]]:
    """Collect the balanced accuracies of all folds by fraction and operation."""
    found: dict[tuple[float, str], list[float]] = defaultdict(list)
    for record in records:
        score = record.result["balanced_accuracy"]
        found[record.job["fraction"], record.job["operation"]].append(score)
    return found


def _sizes(records: Sequence[Record]) -> dict[float, int]:
    """Give the number of training windows of each fraction, the median over folds."""
    found: dict[float, list[int]] = defaultdict(list)
    for record in records:
        found[record.job["fraction"]].append(record.result["n_train"])
    return {fraction: round(median(sizes)) for fraction, sizes in found.items()}


STUDY = ManualStudy()
