"""A policy during its search: a table of its operations, and numbers as small bars."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from cadda.operations.label_maps import plain_name
from cadda.policies.spec.summary import short_magnitude
from cadda.searchers.events import SearchEpoch, SearchStart, TrialEnd

__all__ = ["policy_table", "sparkline"]

BARS = "▁▂▃▄▅▆▇█"
SPARKLINE_WIDTH = 40
NOTABLE_CHANGE = 1.2
"""Factor from a uniform choice above which an operation is marked as risen, or as fallen."""


def policy_table(epoch: SearchEpoch | TrialEnd, start: SearchStart) -> Table:
    """Return a table of the use and magnitude of each operation, the most used first."""
    columns = start.class_names if start.classwise else ("all classes",)
    which = "best policy" if start.unit == "trial" else "policy"
    title = f"{which} so far: windows changed, magnitude"
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
            _cell(start, n, applied[n], magnitude[n], share[n] * p[n] / uniform)
            for applied, magnitude, share, p in zip(
                epoch.applied, epoch.magnitude, epoch.share, epoch.probability, strict=True
            )
        ]
        table.add_row(Text(start.operations[n]), *cells)
    return table


def _cell(start: SearchStart, column: int, applied: float, magnitude: float, change: float) -> str:
    arrow = "▲" if change > NOTABLE_CHANGE else "▼" if change < 1 / NOTABLE_CHANGE else " "
    name = start.operations[column]
    strength = short_magnitude(name, magnitude, start.settings.get(plain_name(name)))
    return f"{applied:.0%}{arrow} {strength}" if strength else f"{applied:.0%}{arrow}"


def sparkline(values: Sequence[float]) -> str:
    """Return numbers as a row of small bars.

    Examples
    --------
    >>> sparkline([0, 1, 2, 3])
    '▁▃▅█'
    """
    shown = values[-SPARKLINE_WIDTH:]
    low, high = min(shown), max(shown)
    span = (high - low) or 1.0
    return "".join(BARS[int((value - low) / span * (len(BARS) - 1))] for value in shown)
