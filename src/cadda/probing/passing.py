"""Operations that a probe lets pass: how strong each may be, and with which label map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.operations.pool import OperationPool
from cadda.policies.spec.entries import StageEntry
from cadda.probing.label_maps import best_permutation
from cadda.probing.probe_result import ProbeResult
from cadda.reporting.records import ProbeMatrix, ProbeRow

__all__ = ["RETAINED", "Passing", "passing_operations"]

RETAINED = 0.75
"""Part of what the model recognises above chance that must remain."""

MIN_LEAD = 0.5
"""By how many standard errors a label map must agree better than labels as they are."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Passing:
    """An operation that a probe lets pass, up to a magnitude, with its label map if it has one."""

    operation: str
    magnitude: float | None  # None for an operation without magnitude
    label_map: dict[str, str] | None
    retained: float  # part of what the model recognises above chance that remains
    lost: tuple[str, ...] = ()  # classes that it destroys

    def entry(self, probability: float, *, fixed: bool = False) -> StageEntry:
        """Return it as an entry of a policy, with a random magnitude or the largest."""
        is_random = self.magnitude is not None and not fixed and self.label_map is None
        return StageEntry(
            operation=self.operation,
            probability=probability,
            magnitude=self.magnitude,
            min_magnitude=0.0 if is_random else None,
            label_map=self.label_map,
        )


def passing_operations(
    probe: ProbeResult, pool: OperationPool, *, retained: float = RETAINED
) -> tuple[Passing, ...]:
    """Return the operations after which windows are recognised nearly as well as before.

    The labels that agree best with the predictions, of all permutations of the classes, must agree
    with at least a part of what the model recognises above chance. An operation passes up to the
    largest magnitude where that is so, with the same labels at all smaller magnitudes.

    These are estimates without a test: with few subjects nothing would pass one, and a race has
    the last word. Nothing passes if the model is no better than chance.
    """
    chance = 1 / len(probe.class_names)
    if probe.accuracy <= chance:
        return ()
    names = (name for name in probe.operations if name in pool)
    found = (_passing(probe, name, chance, retained) for name in names)
    return tuple(item for item in found if item is not None)


def _passing(probe: ProbeResult, operation: str, chance: float, required: float) -> Passing | None:
    """Return how far an operation passes; None if not even at the smallest magnitude."""
    conditions = [item for item in probe.matrices if item.operation == operation]
    labels = _labels(probe, conditions[0])
    last, retained = None, 0.0
    for matrix in conditions:
        part = (_agreement(matrix, labels) - chance) / (probe.accuracy - chance)
        if part < required or not np.array_equal(_labels(probe, matrix), labels):
            break
        last, retained = matrix, part
    if last is None:
        return None
    names, moved = probe.class_names, labels != np.arange(len(labels))
    mapping = {names[i]: names[j] for i, j in enumerate(labels)} if moved.any() else None
    lost = tuple(row.class_name for row in _rows(probe, last) if row.verdict == "destroys")
    return Passing(operation, last.magnitude, mapping, retained, lost)


def _labels(probe: ProbeResult, matrix: ProbeMatrix) -> Labels:
    """Return the permutation of classes that agrees best with the predictions.

    With many classes, some permutation always agrees a little better by chance than labels as they
    are: it must do so by half of the error at least.
    """
    share, itself = np.array(matrix.share), np.arange(len(probe.class_names))
    labels = best_permutation(share, np.ones(share.shape, dtype=bool))
    moved = labels != itself
    gain = share[itself, labels].sum() - share[itself, itself].sum()
    widths = [
        row.other_high - row.other_low + row.kept_high - row.kept_low
        for row, is_moved in zip(_rows(probe, matrix), moved, strict=True)
        if is_moved
    ]
    # An interval is about four standard errors wide.
    error = float(np.linalg.norm(widths)) / 4
    return labels if gain > MIN_LEAD * error else itself


def _rows(probe: ProbeResult, matrix: ProbeMatrix) -> tuple[ProbeRow, ...]:
    """Return the rows of a condition, by class."""
    rows = probe.rows(matrix.operation or "")
    return tuple(row for row in rows if row.magnitude == matrix.magnitude)


def _agreement(matrix: ProbeMatrix, labels: Labels) -> float:
    share = np.array(matrix.share)
    return float(share[np.arange(len(labels)), labels].mean())
