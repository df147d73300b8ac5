"""A policy as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from cadda.policies.spec.describe import short_magnitude
from cadda.searchers.events import SearchEpoch, SearchStart, TrialEnd

__all__ = ["policy_table", "sparkline"]

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 40
RISEN = 1.2
"""How much more likely than at the start an operation must be to be marked as risen."""


def policy_table(epoch: SearchEpoch | TrialEnd, start: SearchStart) -> Table:
    """Show how often and how strongly each operation is used now."""
    columns = start.class_names if start.classwise else ("all classes",)
    which = "best policy" if start.unit == "trial" else "policy"
    title = f"{which} so far: share of windows changed, magnitude"
    table = Table(title=title, title_justify="left")
    table.add_column("operation")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    order = sorted(
        range(len(start.operations)), key=lambda n: -max(row[n] for row in epoch.applied)
    )
    uniform = 0.5 / len(start.operations)
    for n in order:
        cells = [
            _cell(start.operations[n], applied[n], magnitude[n], share[n] * p[n] / uniform)
            for applied, magnitude, share, p in zip(
                epoch.applied, epoch.magnitude, epoch.share, epoch.probability, strict=True
            )
        ]
        table.add_row(start.operations[n], *cells)
    return table


def _cell(operation: str, applied: float, magnitude: float, change: float) -> str:
    arrow = "▲" if change > RISEN else "▼" if change < 1 / RISEN else " "
    strength = short_magnitude(operation, magnitude)
    return f"{applied:.0%}{arrow} {strength}" if strength else f"{applied:.0%}{arrow}"


def sparkline(values: Sequence[float]) -> str:
    """Draw numbers as a row of small bars.

    Examples
    --------
    >>> sparkline([0, 1, 2, 3])
    '▁▃▅█'
    """
    shown = values[-WIDTH:]
    low, high = min(shown), max(shown)
    span = (high - low) or 1.0
    return "".join(BARS[int((value - low) / span * (len(BARS) - 1))] for value in shown)
