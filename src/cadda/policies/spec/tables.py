"""A policy as tables: how often each operation transforms a window of each class, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec, Subpolicy

__all__ = [
    "PolicySummary",
    "class_revealing_operations",
    "probability_table",
    "summarise",
]

Table: TypeAlias = NDArray[np.float64]

REVEALING_GAP = 0.5
"""An operation reveals a class whose windows it changes more often, by this, than all others."""


@dataclass(frozen=True, eq=False)
class PolicySummary:
    """What a policy does with each operation, over all its subpolicies and stages.

    Every table has a row per class (one if the policy is for all) and a column per operation.
    """

    rows: tuple[str, ...]
    """Classes, or ``("*",)``."""
    operations: tuple[str, ...]
    applied: Table
    """Probability that the operation changes a window at least once."""
    share: Table
    """How often a stage chooses it; each row has the sum 1."""
    probability: Table
    """Mean probability of applying it once it is chosen; 0 where it never is."""
    magnitude: Table
    """Mean magnitude when it is applied, 0 where it never is; NaN for an operation without one."""


def summarise(spec: PolicySpec) -> PolicySummary:
    """Summarise a policy over its subpolicies and stages."""
    names = spec.operation_names
    column = {name: i for i, name in enumerate(names)}
    chosen, applied, strength = np.zeros((3, len(spec.rows), len(names)))
    for row, class_name in enumerate(spec.rows):
        for subpolicy in spec.policy[class_name]:
            for stage in subpolicy.stages:
                mass = subpolicy.weight / sum(entry.weight for entry in stage)
                for entry in stage:
                    at = row, column[entry.operation]
                    chosen[at] += mass * entry.weight
                    applied[at] += mass * entry.weight * entry.probability
                    level = np.nan if entry.magnitude is None else entry.magnitude
                    strength[at] += mass * entry.weight * entry.probability * level
    return PolicySummary(
        rows=spec.rows,
        operations=names,
        applied=spec.operation_probabilities(),
        share=chosen / chosen.sum(1, keepdims=True),
        probability=np.divide(applied, chosen, out=np.zeros_like(chosen), where=chosen > 0),
        magnitude=np.divide(strength, applied, out=np.zeros_like(chosen), where=applied > 0),
    )


def probability_table(spec: PolicySpec) -> NDArray[np.float64]:
    """Compute the probability that an operation transforms a window at least once."""
    column = {name: i for i, name in enumerate(spec.operation_names)}
    table = np.zeros((len(spec.rows), len(column)))
    for row, name in enumerate(spec.rows):
        total = sum(subpolicy.weight for subpolicy in spec.policy[name])
        for subpolicy in spec.policy[name]:
            table[row] += subpolicy.weight / total * _at_least_once(subpolicy, column)
    return table


def _at_least_once(subpolicy: Subpolicy, column: dict[str, int]) -> NDArray[np.float64]:
    spared = np.ones(len(column))
    for stage in subpolicy.stages:
        total = sum(entry.weight for entry in stage)
        applied = np.zeros(len(column))
        for entry in stage:
            applied[column[entry.operation]] += entry.weight / total * entry.probability
        spared *= 1 - applied
    return 1 - spared


def class_revealing_operations(table: PolicySummary) -> tuple[str, ...]:
    """Return a sentence for each operation that a model could recognise a class by."""
    if len(table.rows) == 1:
        return ()
    sentences = []
    for applied, name in zip(table.applied.T, table.operations, strict=True):
        second, first = np.sort(applied)[-2:]
        if first - second >= REVEALING_GAP:
            sentences.append(
                f"{name} changes {first:.0%} of the windows of {table.rows[applied.argmax()]}, "
                f"but at most {second:.0%} of those of any other class: a model can learn to "
                "recognise the operation instead of the class"
            )
    return tuple(sentences)
