"""What a policy does: tables over classes and operations, and text with physical units."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda.operations.base import Settings
from cadda.operations.catalogue import CATALOGUE, OperationInfo
from cadda.operations.label_maps import plain_name
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.label_flow import describe_choice
from cadda.policies.spec.leakage import MAX_LEAK, Traces, trace_operations, with_classes
from cadda.policies.spec.walk import applied_at_least_once

if TYPE_CHECKING:
    from cadda.policies.spec.entries import StageEntry, Subpolicy
    from cadda.policies.spec.model import PolicySpec

__all__ = [
    "OperationUse",
    "PolicySummary",
    "class_revealing_operations",
    "describe_magnitude",
    "describe_subpolicy",
    "leak_notes",
    "mean_uses",
    "operation_info",
    "operation_title",
    "operations_at_limit",
    "probability_table",
    "row_label",
    "short_magnitude",
    "summarise",
]

Table: TypeAlias = NDArray[np.float64]

MAX_LISTED = 3
"""Operations of a stage that its description lists."""

MAGNITUDE_EDGE = 0.03
"""A magnitude is at its limit if it is this close to 1."""

MIN_LEAD_RATIO = 1.5
"""An operation leads if it is chosen this much more often than by chance."""

MIN_LEAK = 0.005
"""Bits below which a leak is not listed."""


@dataclass(frozen=True)
class OperationUse:
    """How a policy uses an operation: probability of at least once, and how strongly."""

    probability: float = 0.0
    magnitudes: tuple[float, float] | None = None
    """Smallest and largest magnitude, each the mean over all entries that apply it."""

    @property
    def magnitude(self) -> float | None:
        """Mean magnitude; None if it is not applied, or for an operation without magnitude."""
        return None if self.magnitudes is None else sum(self.magnitudes) / 2


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
    """How often a stage chooses it; each row has the sum 1, or 0 without subpolicies."""
    probability: Table
    """Mean probability of applying it once it is chosen; 0 where it never is."""
    min_magnitude: Table
    """Mean over entries of the smallest magnitude; as the next one."""
    max_magnitude: Table
    """The same of the largest; 0 where it is never applied, NaN for one without magnitude."""
    traces: Traces
    """What operations, with or without label maps, tell about the class."""
    settings: Mapping[str, Settings]
    """Settings of operations, by name without label map, as far as the policy has them."""

    @property
    def magnitude(self) -> Table:
        """Mean magnitude when it is applied."""
        return (self.min_magnitude + self.max_magnitude) / 2

    def magnitudes(self, row: int, column: int) -> tuple[float, float] | None:
        """Return smallest and largest magnitude; None if not applied, or without magnitude."""
        ends = float(self.min_magnitude[row, column]), float(self.max_magnitude[row, column])
        is_used = self.applied[row, column] > 0 and math.isfinite(ends[1])
        return ends if is_used else None

    def describe(self, row: int, column: int) -> str:
        """Return how strongly an operation is used, such as ``"shift < 2.5 Hz"``, or nothing."""
        name = self.operations[column]
        return describe_magnitude(
            name, self.magnitudes(row, column), self.settings.get(plain_name(name))
        )

    def amount(self, row: int, column: int) -> str:
        """Return the same without the name of the quantity, such as ``"2.5 Hz"``."""
        name = self.operations[column]
        return short_magnitude(
            name, self.magnitudes(row, column), self.settings.get(plain_name(name))
        )

    def for_operations(self, operations: Sequence[str]) -> PolicySummary:
        """Return the tables with a column for each of these; 0 for one that a policy lacks."""
        column = {name: i for i, name in enumerate(self.operations)}
        chosen = [column.get(name, len(column)) for name in operations]

        def columns(table: Table) -> Table:
            return np.pad(table, ((0, 0), (0, 1)))[:, chosen]

        return replace(
            self,
            operations=tuple(operations),
            applied=columns(self.applied),
            share=columns(self.share),
            probability=columns(self.probability),
            min_magnitude=columns(self.min_magnitude),
            max_magnitude=columns(self.max_magnitude),
        )


def summarise(spec: PolicySpec) -> PolicySummary:
    """Summarise a policy over its subpolicies and stages."""
    names = spec.operation_names
    column = {name: i for i, name in enumerate(names)}
    chosen, applied, least, most = np.zeros((4, len(spec.rows), len(names)))
    for row, class_name in enumerate(spec.rows):
        for subpolicy in spec.policy[class_name]:
            for stage in subpolicy.stages:
                mass = subpolicy.weight / sum(entry.weight for entry in stage)
                for entry in stage:
                    at = row, column[entry.choice]
                    chosen[at] += mass * entry.weight
                    applied[at] += mass * entry.weight * entry.probability
                    low, high = entry.magnitudes or (np.nan, np.nan)
                    least[at] += mass * entry.weight * entry.probability * low
                    most[at] += mass * entry.weight * entry.probability * high

    def mean(total: Table, count: Table) -> Table:
        return np.divide(total, count, out=np.zeros_like(total), where=count > 0)

    return PolicySummary(
        rows=spec.rows,
        operations=names,
        applied=spec.operation_probabilities(),
        share=mean(chosen, chosen.sum(1, keepdims=True).repeat(len(names), 1)),
        probability=mean(applied, chosen),
        min_magnitude=mean(least, applied),
        max_magnitude=mean(most, applied),
        traces=trace_operations(spec),
        settings=spec.operations,
    )


def probability_table(spec: PolicySpec) -> Table:
    """Compute the probability that an operation transforms a window at least once."""
    column = {name: i for i, name in enumerate(spec.operation_names)}
    table = np.zeros((len(spec.rows), len(column)))
    for row, class_name in enumerate(spec.rows):
        for name, use in mean_uses(spec.policy[class_name], class_name).items():
            table[row, column[name]] = use.probability
    return table


def mean_uses(
    subpolicies: tuple[Subpolicy, ...], class_name: str = ALL_CLASSES
) -> dict[str, OperationUse]:
    """Compute how a policy uses each of its operations on windows of a class.

    For all classes, an operation with a label map counts as for the classes that it names.
    """
    total = sum(subpolicy.weight for subpolicy in subpolicies)
    strength: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for subpolicy in subpolicies:
        share = subpolicy.weight / total
        for stage in subpolicy.stages:
            weights = sum(entry.weight for entry in stage)
            for entry in stage:
                if entry.magnitudes is not None:
                    applied = entry.weight / weights * entry.probability
                    strength[entry.choice].append((share * applied, *entry.magnitudes))
    uses = {}
    for name, probability in applied_at_least_once(subpolicies, class_name).items():
        weight = sum(part for part, _, _ in strength[name]) if probability else 0
        if not weight:
            uses[name] = OperationUse(probability)
            continue
        least = sum(part * low for part, low, _ in strength[name]) / weight
        most = sum(part * high for part, _, high in strength[name]) / weight
        uses[name] = OperationUse(probability, (least, most))
    return uses


def class_revealing_operations(traces: Traces) -> tuple[str, ...]:
    """Return a sentence for each operation that a model could recognise a class by."""
    sentences = []
    for applied, name, bits in zip(
        traces.applied.T, traces.operations, traces.bits.tolist(), strict=True
    ):
        if bits > MAX_LEAK:
            most, least = (
                traces.class_names[applied.argmax()],
                traces.class_names[applied.argmin()],
            )
            sentences.append(
                f"{name} changes {applied.max():.0%} of the windows of {most}, but "
                f"{applied.min():.0%} of those of {least}, which tells {bits:.2f} bits about the "
                "class: a model can learn to recognise the operation instead of the class"
            )
    return tuple(sentences)


def operations_at_limit(table: PolicySummary) -> tuple[str, ...]:
    """Return a sentence for each operation that is chosen often and at its largest magnitude."""
    often = table.share > MIN_LEAD_RATIO / max(1, len(table.operations))
    sentences = []
    for row, column in np.argwhere(often & (table.magnitude > 1 - MAGNITUDE_EDGE)):
        where = "" if table.rows[row] == ALL_CLASSES else f" for {table.rows[row]}"
        sentences.append(f"{table.operations[column]}{where} is at its largest magnitude")
    return tuple(sentences)


def leak_notes(spec: PolicySpec, class_names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return what the operations of a policy tell about the class, then those that tell much.

    A sentence each, none for a policy that treats all classes alike. ``class_names`` are the
    classes of the windows, if these are known and the policy's are not.
    """
    if spec.is_none or (not spec.is_classwise and not spec.label_maps):
        return ()
    named = with_classes(spec, class_names)
    among = "" if named.class_names else ", of those that label maps name"
    traces = trace_operations(named)
    told = [f"{name} {bits:.2f} bits" for name, bits in traces.leak.items() if bits >= MIN_LEAK]
    if not told:
        return (f"No operation tells the class by being applied (less than 0.01 bits){among}",)
    more = f" and {len(told) - MAX_LISTED} more" if len(told) > MAX_LISTED else ""
    listed = ", ".join(told[:MAX_LISTED]) + more
    price = f"What operations tell about the class by being applied{among}: {listed}"
    return (price, *class_revealing_operations(traces))


def describe_subpolicy(
    subpolicy: Subpolicy,
    class_name: str,
    settings: Mapping[str, Settings] | None = None,
    *,
    max_listed: int | None = MAX_LISTED,
) -> list[list[str]]:
    """Return the likeliest operations of each stage, such as ``"50% time_mask, gap 0.3 s"``.

    ``settings`` are the ``operations`` of the policy; None for the default ones. ``max_listed`` is
    the number of operations; None for all.
    """
    described, changed = [], False
    for stage in subpolicy.stages:
        lines = _describe_stage(stage, class_name, settings or {}, changed_before=changed)
        n_more = 0 if max_listed is None else len(lines) - max_listed
        described.append([*lines[:max_listed], f"and {n_more} more"] if n_more > 0 else lines)
        changed = changed or any(entry.label_map is not None for entry in stage)
    return described


def _describe_stage(
    stage: tuple[StageEntry, ...],
    class_name: str,
    settings: Mapping[str, Settings],
    *,
    changed_before: bool,
) -> list[str]:
    total = sum(entry.weight for entry in stage)
    ranked = sorted(stage, key=lambda entry: -entry.weight * entry.probability)
    lines = []
    for entry in ranked:
        choice = describe_choice(entry, class_name, changed_before=changed_before)
        own = settings.get(entry.operation)
        strength = describe_magnitude(entry.operation, entry.magnitudes, own)
        words = f"{entry.weight / total * entry.probability:.0%} {choice}"
        lines.append(f"{words}, {strength}" if strength else words)
    return lines


def operation_info(name: str, settings: Settings | None = None) -> OperationInfo | None:
    """Look up an operation, with or without a label map; None if it is not cadda's own.

    Without ``settings``, those that are the default.
    """
    row = CATALOGUE.get(plain_name(name))
    return None if row is None else row.with_settings(settings)


Magnitude: TypeAlias = float | tuple[float, float] | None
"""A magnitude, or the smallest and the largest; None for an operation without magnitude."""


def describe_magnitude(
    operation: str, magnitude: Magnitude, settings: Settings | None = None
) -> str:
    """Return a magnitude in the unit of an operation; empty for one without magnitude."""
    known = operation_info(operation, settings)
    if known is not None:
        return known.describe(magnitude)
    return "" if magnitude is None else f"magnitude {_without_unit(magnitude)}"


def short_magnitude(operation: str, magnitude: Magnitude, settings: Settings | None = None) -> str:
    """Return a magnitude without the name of its quantity, such as ``"2.5 Hz"``; NaN is None."""
    known = operation_info(operation, settings)
    if magnitude is None or np.isnan(magnitude).any() or (known and not known.has_magnitude):
        return ""
    return known.amount(magnitude) if known else f"µ {_without_unit(magnitude)}"


def _without_unit(magnitude: float | tuple[float, float]) -> str:
    ends = magnitude if isinstance(magnitude, tuple) else (magnitude,)
    return " to ".join(dict.fromkeys(f"{end:.2f}" for end in ends))


def operation_title(name: str) -> str:
    """Return the name of an operation for figures, with its label map on a line of its own."""
    operation, opening, mapping = name.partition(" (")
    return operation.replace("_", " ") + (f"\n({mapping}" if opening else "")


def row_label(row: str) -> str:
    """Return the name of a class, or ``"all classes"``."""
    return "all classes" if row == ALL_CLASSES else row
