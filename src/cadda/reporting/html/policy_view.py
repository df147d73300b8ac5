"""A policy as a reader wants it: what each class gets, in physical units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.describe import describe_magnitude, describe_stage, row_label
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.tables import PolicySummary, summarise
from cadda.reporting.html.words import percent

__all__ = ["Card", "Drawn", "HeatRow", "PolicyView", "Use", "lonely_operations", "view_policy"]

MOST_USES = 5
"""Operations that are named for each class; the table has all of them."""

MOST_SUBPOLICIES = 20
"""Subpolicies that are listed for each class."""

LARGEST_JSON = 500_000
"""Characters of a policy file above which the page only says where it is."""

FAR = 0.5
"""An operation that one class gets by so much more often than all others gives the class away."""


@dataclass(frozen=True)
class Use:
    """One operation for one class.

    Parameters
    ----------
    operation : str
        Its name.
    applied : float
        Share of the windows that it changes.
    share : str
        The same in words.
    amount : str
        How strongly, in words and its unit.
    short : str
        The same without words.
    depth : float
        Share of the strongest colour, for the table.
    """

    operation: str
    applied: float
    share: str
    amount: str
    short: str
    depth: float


@dataclass(frozen=True)
class Card:
    """What one class gets.

    Parameters
    ----------
    name : str
        The class.
    uses : tuple of Use
        The operations that it gets most.
    rest : str
        What is left out.
    """

    name: str
    uses: tuple[Use, ...]
    rest: str


@dataclass(frozen=True)
class Drawn:
    """The subpolicies of one class.

    Parameters
    ----------
    name : str
        The class.
    subpolicies : tuple of (str, tuple of tuple of str)
        How often each is drawn, and its stages in words; the likeliest only.
    n_more : int
        How many others there are.
    """

    name: str
    subpolicies: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    n_more: int


@dataclass(frozen=True)
class HeatRow:
    """One operation for all classes.

    Parameters
    ----------
    operation : str
        Its name.
    summary : str
        What it does.
    cells : tuple of Use
        One for each class.
    """

    operation: str
    summary: str
    cells: tuple[Use, ...]


@dataclass(frozen=True)
class PolicyView:
    """What a report says about a policy.

    Parameters
    ----------
    rows : tuple of str
        Classes, or all of them together.
    cards : tuple of Card
        What each class gets.
    heat : tuple of HeatRow
        All operations by classes, the most used first.
    drawn : tuple of Drawn
        The subpolicies of each class.
    json : str
        The policy file; empty if it is too large for a page.
    """

    rows: tuple[str, ...]
    cards: tuple[Card, ...]
    heat: tuple[HeatRow, ...]
    drawn: tuple[Drawn, ...]
    json: str


def view_policy(policy: PolicySpec, schedule: PolicySchedule | None) -> PolicyView:
    """Prepare a policy for a reader.

    Parameters
    ----------
    policy : PolicySpec
        The policy.
    schedule : PolicySchedule | None
        Which policy was applied in which epoch, if that changed.

    Returns
    -------
    PolicyView
        What the report says about it.
    """
    table, text = summarise(policy), (schedule or policy).to_json()
    n_rows, n_operations = table.applied.shape
    uses = [[_use(table, row, n) for n in range(n_operations)] for row in range(n_rows)]
    order = np.argsort(-table.applied.max(0), kind="stable").tolist()
    return PolicyView(
        rows=tuple(map(row_label, table.rows)),
        cards=tuple(
            _card(row_label(name), one) for name, one in zip(table.rows, uses, strict=True)
        ),
        heat=tuple(
            HeatRow(
                table.operations[n],
                CATALOGUE[table.operations[n]].summary if table.operations[n] in CATALOGUE else "",
                tuple(row[n] for row in uses),
            )
            for n in order
        ),
        drawn=tuple(_drawn(policy, row) for row in table.rows),
        json=text if len(text) <= LARGEST_JSON else "",
    )


def lonely_operations(policy: PolicySpec) -> list[str]:
    """Name operations that a class can be recognised by.

    Parameters
    ----------
    policy : PolicySpec
        The policy.

    Returns
    -------
    list of str
        One sentence each.
    """
    table = summarise(policy)
    if len(table.rows) < 2:
        return []
    found = []
    for n, name in enumerate(table.operations):
        second, first = np.sort(table.applied[:, n])[-2:]
        if first - second >= FAR:
            row = table.rows[int(table.applied[:, n].argmax())]
            found.append(
                f"{name} changes {percent(first)} of the windows of {row}, but at most "
                f"{percent(second)} of those of any other class: a network can learn to recognise "
                "the operation instead of the class"
            )
    return found


def _use(table: PolicySummary, row: int, n: int) -> Use:
    applied, level = float(table.applied[row, n]), float(table.magnitude[row, n])
    magnitude = level if applied > 0 and np.isfinite(level) else None
    strongest = float(table.applied.max()) or 1.0
    return Use(
        operation=table.operations[n],
        applied=applied,
        share=percent(applied),
        amount=describe_magnitude(table.operations[n], magnitude),
        short=_short(table.operations[n], magnitude),
        depth=round(applied / strongest, 3),
    )


def _short(operation: str, magnitude: float | None) -> str:
    entry = CATALOGUE.get(operation)
    if magnitude is None or (entry is not None and not entry.has_magnitude):
        return ""
    return f"µ {magnitude:.2f}" if entry is None else entry.amount(magnitude)


def _card(name: str, uses: list[Use]) -> Card:
    ranked = sorted((one for one in uses if one.applied > 0), key=lambda one: -one.applied)
    rest = ranked[MOST_USES:]
    words = f"and {len(rest)} more, at most {rest[0].share} each" if rest else ""
    if not ranked:
        words = "nothing: its windows stay as they are"
    return Card(name, tuple(ranked[:MOST_USES]), words)


def _drawn(policy: PolicySpec, row: str) -> Drawn:
    subpolicies = sorted(policy.policy[row], key=lambda one: -one.weight)
    total = sum(one.weight for one in subpolicies)
    return Drawn(
        row_label(row),
        tuple(
            (
                percent(one.weight / total),
                tuple(tuple(describe_stage(stage)) for stage in one.stages),
            )
            for one in subpolicies[:MOST_SUBPOLICIES]
        ),
        max(0, len(subpolicies) - MOST_SUBPOLICIES),
    )
