"""Stages of a policy as text with physical units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.text import ALL_CLASSES

if TYPE_CHECKING:
    from cadda.policies.spec.model import StageEntry

__all__ = ["describe_magnitude", "describe_stage", "row_label", "short_magnitude"]

MOST_ENTRIES = 3


def describe_stage(stage: tuple[StageEntry, ...]) -> list[str]:
    """Return the likeliest operations of a stage, such as ``"50% time_mask, gap 0.3 s"``."""
    total = sum(entry.weight for entry in stage)
    ranked = sorted(stage, key=lambda entry: -entry.weight * entry.probability)
    lines = [_describe_entry(entry, entry.weight / total) for entry in ranked[:MOST_ENTRIES]]
    if len(ranked) > MOST_ENTRIES:
        lines.append(f"and {len(ranked) - MOST_ENTRIES} more")
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
