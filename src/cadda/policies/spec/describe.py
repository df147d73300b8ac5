"""Stages of a policy in words and physical units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.text import ALL_CLASSES

if TYPE_CHECKING:
    from cadda.policies.spec.model import StageEntry

__all__ = ["describe_magnitude", "describe_stage", "row_label"]

MOST_ENTRIES = 3


def describe_stage(stage: tuple[StageEntry, ...]) -> list[str]:
    """Say which operations a stage is likeliest to apply.

    Parameters
    ----------
    stage : tuple of StageEntry
        The stage.

    Returns
    -------
    list of str
        One operation each, such as ``"50% frequency_shift, shift < 2 Hz"``; if there are more than
        three, how many more.
    """
    total = sum(entry.weight for entry in stage)
    ranked = sorted(stage, key=lambda entry: -entry.weight * entry.probability)
    lines = [_describe_entry(entry, entry.weight / total) for entry in ranked[:MOST_ENTRIES]]
    if len(ranked) > MOST_ENTRIES:
        lines.append(f"and {len(ranked) - MOST_ENTRIES} more")
    return lines


def describe_magnitude(operation: str, magnitude: float | None) -> str:
    """Say how strong an operation is.

    Parameters
    ----------
    operation : str
        Name of the operation, cadda's or the user's own.
    magnitude : float | None
        Magnitude in [0, 1].

    Returns
    -------
    str
        Such as ``"shift < 2.5 Hz"``; empty for an operation without magnitude.
    """
    known = CATALOGUE.get(operation)
    if known is not None:
        return known.describe(magnitude)
    return "" if magnitude is None else f"magnitude {magnitude:.2f}"


def row_label(row: str) -> str:
    """Name a row of a policy for people to read.

    Parameters
    ----------
    row : str
        One of `PolicySpec.rows`.

    Returns
    -------
    str
        The class, or that it is all of them.
    """
    return "all classes" if row == ALL_CLASSES else row


def _describe_entry(entry: StageEntry, share: float) -> str:
    strength = describe_magnitude(entry.operation, entry.magnitude)
    words = f"{share * entry.probability:.0%} {entry.operation}"
    return f"{words}, {strength}" if strength else words
