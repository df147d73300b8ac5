"""A policy for readers: the operations of each class, in physical units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.label_flow import label_map_notes
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import (
    PolicySummary,
    describe_subpolicy,
    leak_notes,
    operation_info,
    row_label,
    summarise,
)
from cadda.reporting.html.formatting import percent

__all__ = ["Card", "HeatRow", "OperationUse", "PolicyView", "SubpolicyList", "view_policy"]

MAX_USES = 5
"""Operations listed on the card of a class; the table has all of them."""

MAX_SUBPOLICIES = 20
"""Subpolicies that are listed for each class."""

MAX_JSON = 500_000
"""Characters of a policy file above which the page only names the file."""


@dataclass(frozen=True)
class OperationUse:
    """One operation for one class."""

    operation: str
    applied: float  # fraction of the windows that it changes
    share: str  # the same as text
    amount: str  # how strongly
    short: str  # the same without words
    depth: float  # of the colour, relative to the darkest cell


@dataclass(frozen=True)
class Card:
    """The most used operations of one class."""

    name: str
    uses: tuple[OperationUse, ...]
    note: str


@dataclass(frozen=True)
class SubpolicyList:
    """The subpolicies of one class."""

    name: str
    subpolicies: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    n_more: int


@dataclass(frozen=True)
class HeatRow:
    """One operation for all classes."""

    operation: str
    summary: str
    cells: tuple[OperationUse, ...]


@dataclass(frozen=True)
class PolicyView:
    """Everything that a report shows of a policy."""

    rows: tuple[str, ...]
    cards: tuple[Card, ...]
    heat: tuple[HeatRow, ...]
    subpolicies: tuple[SubpolicyList, ...]
    notes: tuple[str, ...]
    json: str


def view_policy(
    policy: PolicySpec, schedule: PolicySchedule | None, class_names: Sequence[str]
) -> PolicyView:
    """Prepare a policy for readers; ``class_names`` are the classes of the windows."""
    table, text = summarise(policy), (schedule or policy).to_json()
    n_rows, n_operations = table.applied.shape
    uses = [[_use(table, row, n) for n in range(n_operations)] for row in range(n_rows)]
    order = np.argsort(-table.applied.max(0), kind="stable").tolist()
    # What tells much about the class is among the warnings.
    notes = (*label_map_notes(policy, class_names), *leak_notes(policy, class_names)[:1])
    return PolicyView(
        rows=tuple(map(row_label, table.rows)),
        cards=tuple(
            _card(row_label(name), row) for name, row in zip(table.rows, uses, strict=True)
        ),
        heat=tuple(
            HeatRow(
                table.operations[n],
                "" if (info := operation_info(table.operations[n])) is None else info.summary,
                tuple(row[n] for row in uses),
            )
            for n in order
        ),
        subpolicies=tuple(_subpolicies(policy, row) for row in table.rows),
        notes=tuple(f"{note}." for note in notes),
        json=text if len(text) <= MAX_JSON else "",
    )


def _use(table: PolicySummary, row: int, n: int) -> OperationUse:
    applied = float(table.applied[row, n])
    strongest = float(table.applied.max()) or 1.0
    return OperationUse(
        operation=table.operations[n],
        applied=applied,
        share=percent(applied),
        amount=table.describe(row, n),
        short=table.amount(row, n),
        depth=round(applied / strongest, 3),
    )


def _card(name: str, uses: list[OperationUse]) -> Card:
    ranked = sorted((use for use in uses if use.applied > 0), key=lambda use: -use.applied)
    rest = ranked[MAX_USES:]
    note = f"and {len(rest)} more, at most {rest[0].share} each" if rest else ""
    if not ranked:
        note = "none: its windows are not augmented"
    return Card(name, tuple(ranked[:MAX_USES]), note)


def _subpolicies(policy: PolicySpec, row: str) -> SubpolicyList:
    ranked = sorted(policy.policy[row], key=lambda subpolicy: -subpolicy.weight)
    total = sum(subpolicy.weight for subpolicy in ranked)
    return SubpolicyList(
        row_label(row),
        tuple(
            (
                percent(subpolicy.weight / total),
                tuple(map(tuple, describe_subpolicy(subpolicy, row, policy.operations))),
            )
            for subpolicy in ranked[:MAX_SUBPOLICIES]
        ),
        max(0, len(ranked) - MAX_SUBPOLICIES),
    )
