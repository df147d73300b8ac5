"""Operations that a probe lets pass: how strong each may be, and with which label map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from cadda._internal.statistics import Numbers
from cadda.operations.label_maps import LabelMap
from cadda.operations.pool import OperationPool
from cadda.policies.spec.entries import StageEntry
from cadda.probing.probe_result import ProbeResult
from cadda.reporting.probe_records import ProbeMatrix, ProbeRow

__all__ = [
    "LENIENT",
    "RETAINED",
    "Passing",
    "passing_operations",
    "passing_pool",
    "with_passing_maps",
]

RETAINED = 0.75
"""Part of what the model recognises above chance that must remain."""

LENIENT = 0.5
"""The same where something else decides later which operations are used, and how often."""

MAX_DISTANCE = 0.5
"""Squared distance of predictions from those that a label map expects, relative to the distance
from those of labels as they are, up to which the map is believed."""

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

    The labels that explain the predictions best, of all permutations of the classes, must agree
    with at least a part of what the model recognises above chance. An operation passes up to the
    largest magnitude where that is so, with the same labels at all smaller magnitudes.

    These are estimates without a test: with few subjects nothing would pass one, and a race has
    the last word. Nothing passes if the model is not at least one standard error above chance.
    """
    chance = 1 / len(probe.class_names)
    if not probe.is_promising:
        return ()
    names = (name for name in probe.operations if name in pool)
    found = (_passing(probe, name, chance, retained) for name in names)
    return tuple(item for item in found if item is not None)


def passing_pool(pool: OperationPool, passing: Sequence[Passing]) -> OperationPool:
    """Return the operations that pass, each with its label map if it has one."""
    return with_passing_maps(pool, passing).select([item.entry(1.0).choice for item in passing])


def with_passing_maps(pool: OperationPool, passing: Sequence[Passing]) -> OperationPool:
    """Return a pool with the label maps of operations that pass."""
    return pool.with_label_maps(
        LabelMap(item.operation, item.label_map) for item in passing if item.label_map is not None
    )


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
    """Return the permutation of classes that explains the predictions best.

    Windows that an operation turns into another class should be taken for what windows of that
    class are taken for as they are, errors of the model included. With many classes, some
    permutation is always a little closer by chance, so it must be closer by half at least.
    """
    plain, after = (np.array(item.share) for item in (probe.matrices[0], matrix))
    distance: Numbers = np.square(after[:, None] - plain[None]).sum(-1)
    itself = np.arange(len(plain))
    labels: Labels = linear_sum_assignment(distance)[1]
    is_close = distance[itself, labels].sum() <= MAX_DISTANCE * np.trace(distance)
    return labels if is_close else itself


def _rows(probe: ProbeResult, matrix: ProbeMatrix) -> tuple[ProbeRow, ...]:
    """Return the rows of a condition, by class."""
    rows = probe.rows(matrix.operation or "")
    return tuple(row for row in rows if row.magnitude == matrix.magnitude)


def _agreement(matrix: ProbeMatrix, labels: Labels) -> float:
    share = np.array(matrix.share)
    return float(share[np.arange(len(labels)), labels].mean())
