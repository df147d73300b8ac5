"""What a policy does: tables over classes and operations, and text with physical units."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.text import ALL_CLASSES

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec, StageEntry, Subpolicy

__all__ = [
    "OperationUse",
    "PolicySummary",
    "class_revealing_operations",
    "describe_magnitude",
    "describe_stage",
    "mean_uses",
    "probability_table",
    "row_label",
    "short_magnitude",
    "summarise",
]

Table: TypeAlias = NDArray[np.float64]

MAX_LISTED = 3
"""Operations of a stage that its description lists."""

REVEALING_GAP = 0.5
"""An operation reveals a class whose windows it changes more often, by this, than all others."""


@dataclass(frozen=True)
class OperationUse:
    """How a policy uses an operation: probability of at least once, and the mean magnitude."""

    probability: float = 0.0
    magnitude: float | None = None


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
                    at = row, column[entry.choice]
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


def probability_table(spec: PolicySpec) -> Table:
    """Compute the probability that an operation transforms a window at least once."""
    column = {name: i for i, name in enumerate(spec.operation_names)}
    table = np.zeros((len(spec.rows), len(column)))
    for row, class_name in enumerate(spec.rows):
        for name, use in mean_uses(spec.policy[class_name]).items():
            table[row, column[name]] = use.probability
    return table


def mean_uses(subpolicies: tuple[Subpolicy, ...]) -> dict[str, OperationUse]:
    """Compute how the policy of one class uses each of its operations."""
    total = sum(subpolicy.weight for subpolicy in subpolicies)
    used: dict[str, float] = defaultdict(float)
    strength: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for subpolicy in subpolicies:
        share = subpolicy.weight / total
        spared: dict[str, float] = {}
        for stage in subpolicy.stages:
            weights = sum(entry.weight for entry in stage)
            for entry in stage:
                applied = entry.weight / weights * entry.probability
                spared[entry.choice] = spared.get(entry.choice, 1.0) * (1 - applied)
                if entry.magnitude is not None:
                    strength[entry.choice].append((share * applied, entry.magnitude))
        for name, probability in spared.items():
            used[name] += share * (1 - probability)
    uses = {}
    for name, probability in used.items():
        weight = sum(part for part, _ in strength[name])
        mean = sum(part * value for part, value in strength[name]) / weight if weight else None
        uses[name] = OperationUse(probability, mean)
    return uses


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


def describe_stage(stage: tuple[StageEntry, ...]) -> list[str]:
    """Return the likeliest operations of a stage, such as ``"50% time_mask, gap 0.3 s"``."""
    total = sum(entry.weight for entry in stage)
    ranked = sorted(stage, key=lambda entry: -entry.weight * entry.probability)
    lines = [_describe_entry(entry, entry.weight / total) for entry in ranked[:MAX_LISTED]]
    if len(ranked) > MAX_LISTED:
        lines.append(f"and {len(ranked) - MAX_LISTED} more")
    return lines


def describe_magnitude(operation: str, magnitude: float | None) -> str:
    """Return a magnitude in the unit of an operation; empty for one without magnitude."""
    known = CATALOGUE.get(operation)
    if known is not None:
        return known.describe(magnitude)
    return "" if magnitude is None else f"magnitude {magnitude:.2f}"


def short_magnitude(operation: str, magnitude: float | None) -> str:
    """Return a magnitude without the name of its quantity, such as ``"2.5 Hz"``; NaN is None."""
    known = CATALOGUE.get(operation)
    if magnitude is None or math.isnan(magnitude) or (known and not known.has_magnitude):
        return ""
    return known.amount(magnitude) if known else f"µ {magnitude:.2f}"


def row_label(row: str) -> str:
    """Return the name of a class, or ``"all classes"``."""
    return "all classes" if row == ALL_CLASSES else row


def _describe_entry(entry: StageEntry, share: float) -> str:
    strength = describe_magnitude(entry.operation, entry.magnitude)
    words = f"{share * entry.probability:.0%} {entry.operation}"
    return f"{words}, {strength}" if strength else words
