"""Studies of operations: which they try, how strongly, with which policies, and the gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cadda._internal.statistics import FOLD_COVERAGE, MIN_FOLDS, median_estimate
from cadda.api.prepare import operation_pool
from cadda.data.windows import Windows
from cadda.operations.base import Settings
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.own import OwnOperations
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "GAIN_COLUMNS",
    "NO_OPERATION",
    "PROBABILITY",
    "SCALES",
    "Magnitudes",
    "chosen_operations",
    "classwise_policy",
    "gain_cells",
    "interval_note",
    "magnitude_of",
    "relative_gain",
    "single_policy",
]

PROBABILITY = 0.5
"""The paper's, where operations are tried one by one."""

NO_OPERATION = "none"
"""The operation of jobs that train without augmentation."""

GAIN_COLUMNS = ("gain (%)", "from", "to", "folds")
"""Columns of tables with `gain_cells`."""

SCALES: dict[str, dict[str, object]] = {
    "quick": {
        "n_subjects": 6,
        "n_windows": 20,
        "model": "shallow",
        "n_folds": 2,
        "max_epochs": 4,
        "batch_size": 32,
    },
    "cpu": {"valid": 0.125, "test": 0.4, "n_train": 100, "max_epochs": 100, "patience": 15},
    "paper": {"n_subjects": 83, "n_windows": 900},
}
"""Settings by scale that studies of operations start from."""

Magnitudes: TypeAlias = (
    Literal["sleep", "motor-imagery"] | dict[str, Annotated[float, Field(ge=0, le=1)]]
)
"""A kind of data, whose magnitudes the catalogue has; or magnitudes by operation."""


def chosen_operations(
    windows: Windows,
    wanted: OwnOperations | None,
    settings: Mapping[str, Settings] | None = None,
) -> tuple[str, ...]:
    """Return the names of the operations to try; None means the default pool."""
    try:
        return operation_pool(windows, operations=wanted, operation_settings=settings).names
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error


def magnitude_of(operation: str, magnitudes: Magnitudes) -> float | None:
    """Return the magnitude of an operation; None if it has none."""
    row = CATALOGUE[operation]
    if not row.has_magnitude:
        return None
    if isinstance(magnitudes, str):
        value = row.study_magnitudes.get(magnitudes)
    else:
        value = magnitudes.get(operation)
    if value is None:
        raise ValueError(
            f'`magnitudes` must have one for {operation}, such as {{"{operation}": 0.5}}, got '
            f"{magnitudes!r}."
        )
    return value


def single_policy(operation: str, magnitude: float | None) -> PolicySpec | None:
    """Make a policy that applies one operation to any window, with probability 0.5."""
    if operation == NO_OPERATION:
        return None
    return PolicySpec(policy={ALL_CLASSES: (_subpolicy(operation, magnitude),)})


def classwise_policy(by_class: Mapping[str, tuple[str, float | None]]) -> PolicySpec:
    """Make a policy that applies one operation to each class, with probability 0.5."""
    return PolicySpec(
        policy={name: (_subpolicy(*choice),) for name, choice in by_class.items()},
        class_names=tuple(by_class),
    )


def _subpolicy(operation: str, magnitude: float | None) -> Subpolicy:
    entry = StageEntry(operation=operation, probability=PROBABILITY, magnitude=magnitude)
    return Subpolicy(stages=((entry,),))


def relative_gain(score: float, baseline: float) -> float:
    """Return a gain in parts of the baseline, as the paper does."""
    return (score - baseline) / baseline


def gain_cells(gains: Sequence[float]) -> tuple[float, float | None, float | None, int]:
    """Return the cells of `GAIN_COLUMNS`: median, its interval, number of folds."""
    gain = median_estimate(gains)
    ends = (100 * gain.low, 100 * gain.high) if gain.is_bounded else (None, None)
    return 100 * gain.value, *ends, len(gains)


def interval_note(values: Iterable[Sequence[float]]) -> str:
    """Describe values over folds in a table: medians, with intervals if any has enough folds."""
    note = "median over folds"
    if any(len(folds) >= MIN_FOLDS for folds in values):
        note += f" with its {100 * FOLD_COVERAGE:g} % bootstrap interval"
    return note
