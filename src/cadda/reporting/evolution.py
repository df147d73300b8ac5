"""How a policy changed during a search: a figure, and the same as charts of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cadda.drawing.figure import Figure
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import operation_title, row_label
from cadda.reporting.charts import Chart, Line, Series, line_chart
from cadda.reporting.records import SearchCurves

__all__ = ["Evolution", "evolution_charts", "plot_evolution"]

N_COLOURED = 6
"""Operations that get a colour of their own in a chart; the others are grey."""

MAX_POINTS = 50_000
"""Points in all charts together, so that the page stays small."""


@dataclass(frozen=True)
class Evolution:
    """Charts of a policy: a legend, and a row of charts per class."""

    legend: tuple[Line, ...]
    rows: tuple[tuple[str, tuple[Chart, ...]], ...]


def plot_evolution(curves: SearchCurves, operations: Sequence[str], policy: PolicySpec) -> Figure:
    """Draw how a policy changed during the search."""
    figure = Figure(figsize=(11, 1.3 + 2.2 * len(policy.rows)), layout="constrained")
    tables = _panels(curves)
    panels = figure.subplots(len(policy.rows), len(tables), sharex=True, squeeze=False)
    lines: list[Line2D] = []
    for column, (title, values) in enumerate(tables):
        panels[0, column].set_title(title, fontsize=10)
        for row, name in enumerate(policy.rows):
            lines = _draw_lines(panels[row, column], curves.number[curves.shown], values[:, row])
            if column == 0:
                panels[row, column].set_ylabel(row_label(name))
    for axes in panels[-1]:
        axes.set_xlabel(_x_label(curves))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    names = [operation_title(name) for name in operations]
    figure.legend(lines, names, loc="outside lower center", ncols=7, fontsize=8, frameon=False)
    return figure


def evolution_charts(
    curves: SearchCurves, operations: Sequence[str], policy: PolicySpec
) -> Evolution:
    """Return the same as charts of a page, with colours for the most used operations."""
    thinned = _thinned(curves)
    ranked = np.argsort(-thinned.applied[-1].max(0), kind="stable")[:N_COLOURED].tolist()
    styles = {n: f"op-{place + 1}" for place, n in enumerate(ranked)}
    rows = tuple(
        (
            row_label(name),
            tuple(
                _chart(thinned, title, values[:, row], operations, styles)
                for title, values in _panels(thinned)
            ),
        )
        for row, name in enumerate(policy.rows)
    )
    legend = tuple(Line("", styles[n], operations[n]) for n in ranked)
    others = (Line("", "other", "others"),) if len(operations) > N_COLOURED else ()
    return Evolution((*legend, *others), rows)


def _panels(curves: SearchCurves) -> tuple[tuple[str, NDArray[np.float64]], ...]:
    return (
        ("how often it is chosen", curves.share),
        ("probability p once chosen", curves.probability),
        ("magnitude µ", curves.magnitude),
    )


def _x_label(curves: SearchCurves) -> str:
    return "trial, best policy so far" if curves.unit == "trial" else "epoch of the search"


def _draw_lines(
    axes: Axes, number: NDArray[np.float64], values: NDArray[np.float64]
) -> list[Line2D]:
    """Draw a line per operation, with colours and dashes that distinguish twenty of them."""
    axes.set_ylim(0, max(0.25, 1.1 * np.nanmax(values, initial=0.0)))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    lines: list[Line2D] = []
    for i, line in enumerate(values.T):
        style = ("-", "--")[i // 10 % 2]
        lines += axes.plot(number, line, color=f"C{i % 10}", linestyle=style, linewidth=1.4)
    return lines


def _thinned(curves: SearchCurves) -> SearchCurves:
    """Drop epochs or trials, evenly, if there are more than can be drawn."""
    n_steps, *shape = curves.applied.shape
    n_kept = max(2, MAX_POINTS // (3 * math.prod(shape)))
    kept = np.unique(np.linspace(0, n_steps - 1, n_kept).round().astype(int))
    names = ("shown", "applied", "share", "probability", "magnitude")
    return replace(curves, **{name: getattr(curves, name)[kept] for name in names})


def _chart(
    curves: SearchCurves,
    title: str,
    values: NDArray[np.float64],
    operations: Sequence[str],
    styles: dict[int, str],
) -> Chart:
    # Grey lines first, so that they are behind.
    order = sorted(range(len(operations)), key=lambda n: n in styles)
    leading = ", ".join(
        f"{operations[n]} {values[-1, n]:.2f}" for n in styles if np.isfinite(values[-1, n])
    )
    return line_chart(
        [Series(curves.number[curves.shown], values[:, n], styles.get(n, "other")) for n in order],
        title=title,
        alt=f"{title}, at the end: {leading}.",
        x_label=_x_label(curves),
        y_span=(0.0, max(0.1, 1.06 * float(np.nanmax(values, initial=0.0)))),
        style="small",
    )
