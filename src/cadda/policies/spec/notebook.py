"""A policy as a table: what a notebook shows, and a data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cadda._internal.frames import make_frame
from cadda._internal.notebook import Cell, block, folded, paragraph, table, verbatim
from cadda.policies.spec.summary import (
    PolicySummary,
    leak_notes,
    row_label,
    summarise,
)

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["COLUMNS", "policy_frame", "policy_html", "policy_rows"]

SHARES, MAGNITUDES = ("applied", "share", "probability"), ("min_magnitude", "max_magnitude")
COLUMNS = ("class_name", "operation", *SHARES, *MAGNITUDES)
"""Columns of a policy as a data frame."""


def policy_frame(spec: PolicySpec) -> Any:
    """Return a row for each class and operation of a policy."""
    return make_frame(policy_rows(spec), COLUMNS)


def policy_rows(spec: PolicySpec) -> Iterator[dict[str, Any]]:
    """Yield the values of `COLUMNS` for each class and operation of a policy."""
    summary = summarise(spec)
    for i, row in enumerate(summary.rows):
        for k, name in enumerate(summary.operations):
            ends = summary.magnitudes(i, k) or (math.nan, math.nan)
            shares = {key: getattr(summary, key)[i, k] for key in SHARES}
            yield {
                "class_name": row,
                "operation": name,
                **shares,
                **dict(zip(MAGNITUDES, ends, strict=True)),
            }


def policy_html(spec: PolicySpec) -> str:
    """Return a policy for a notebook: operations by class, and the short form."""
    origin = spec.provenance
    found = f", found by {origin.method}" if origin.method else ""
    title = f"Policy for {'each class' if spec.is_classwise else 'all classes'}{found}"
    if spec.is_none:
        return block(title, paragraph("no augmentation"))
    summary = summarise(spec)
    return block(
        title,
        table(
            ("operation", *map(row_label, summary.rows)),
            _rows(summary),
            "how often a window is changed, and how strongly",
        ),
        *(paragraph(f"{note}.") for note in leak_notes(spec)),
        folded("as text", verbatim(str(spec))),
    )


def _rows(summary: PolicySummary) -> Iterator[tuple[Cell | str, ...]]:
    """Yield the operations that are used, the most used first."""
    most = summary.applied.max(0)
    for k in most.argsort(kind="stable")[::-1].tolist():
        name = summary.operations[k]
        if most[k] > 0:
            yield (
                name,
                *(
                    Cell(f"{p:.0%} {summary.amount(i, k)}".rstrip(), p)
                    for i, p in enumerate(summary.applied[:, k].tolist())
                ),
            )
