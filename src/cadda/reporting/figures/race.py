"""Figures of scores against search time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from cadda._internal.statistics import FOLD_COVERAGE, MIN_FOLDS, median_interval
from cadda.drawing.figure import Figure

__all__ = ["RaceCurve", "RacePanel", "add_race_legend", "at_stops", "draw_race", "plot_race"]

LABELLED = (1, 2, 4)
"""Labelled times: these times powers of ten."""
LEAST_RATIO = 2.0
"""Minimum ratio between the ends of a time axis, also if all methods stop at the same time."""
APART = 0.015
"""Horizontal offset between methods that separates intervals, as a fraction of the axis."""
ROOM = 0.1
"""Margin before the first and after the last mark, as a fraction of the time between them."""
ENTRY_WIDTH = 2.1
"""Width of a name in the legend, in inches."""
LINE_WIDTH, WIDER = 1.2, 0.25

Numbers = NDArray[np.float64]
Colour = str | NDArray[np.float64]
RaceCurve = Sequence[tuple[float, float]]
"""Points (seconds, value) of one search, one for each stop, in order of time."""


@dataclass(frozen=True)
class RacePanel:
    """Curves of each method, one per fold, and scores without augmentation."""

    title: str
    label: str
    curves: Mapping[str, Sequence[RaceCurve]]
    level: Sequence[float]


def plot_race(rows: Sequence[Sequence[RacePanel]]) -> Figure:
    """Draw values against the time of searching: medians over folds, with intervals."""
    n_columns = max(len(row) for row in rows)
    figure = Figure(figsize=(1 + 5 * n_columns, 1 + 3.4 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), n_columns, squeeze=False, sharex=True, sharey="row")
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.curves))
    colours = colormaps["tab20"](range(20))
    # Strong colours come first, then pale colours of the same hue; without grey.
    order = [colour for colour in (*colours[::2], *colours[1::2]) if np.ptp(colour[:3])]
    colour = {name: order[i % len(order)] for i, name in enumerate(names)}
    for axes_row, row in zip(grid, rows, strict=True):
        for axes, panel in zip(axes_row, row, strict=True):
            draw_race(axes, panel, colour)
        axes_row[0].set_ylabel(row[0].label)
    for axes in grid[-1]:
        axes.set_xlabel("computing time of the search (s)")
    add_race_legend(figure, [panel for row in rows for panel in row])
    return figure


def draw_race(axes: Axes, panel: RacePanel, colour: Mapping[str, Colour]) -> None:
    """Draw the curves of a panel."""
    axes.set_title(panel.title, fontsize=10)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=LABELLED))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(panel.level):
        axes.axhline(
            float(np.median(panel.level)), color="0.4", linestyle="--", label="no augmentation"
        )
    curves = {name: at_stops(runs) for name, runs in panel.curves.items()}
    if not curves:
        return
    start, end = _limits(np.concatenate([seconds for seconds, _ in curves.values()]))
    apart = (end / start) ** APART if _has_intervals(panel) else 1.0
    for i, (name, (seconds, values)) in enumerate(curves.items()):
        # What needs no search is there from the start, which a logarithmic axis does not have.
        aside = np.maximum(seconds, start) * apart ** (i - (len(curves) - 1) / 2)
        # Lines below others are wider, so that both are visible.
        width = LINE_WIDTH + WIDER * (len(curves) - 1 - i)
        _draw_curve(axes, aside, values, end, color=colour[name], label=name, linewidth=width)
    axes.update_datalim([(start, 0), (end, 0)], updatey=False)
    axes.margins(x=0)
    axes.autoscale_view()


def _draw_curve(
    axes: Axes, seconds: Numbers, values: Numbers, end: float, *, color: Any, **line: Any
) -> None:
    """Draw a median as steps, with a mark and an interval wherever a policy was tested."""
    low, middle, high = median_interval(values)
    steps = [*seconds, end], [*middle, middle[-1]]
    axes.step(*steps, where="post", color=color, **line)
    axes.plot(seconds, middle, "o", color=color, markersize=4)
    if len(values) >= MIN_FOLDS:
        axes.vlines(seconds, low, high, color=color, linewidth=1)


def _has_intervals(panel: RacePanel) -> bool:
    return any(len(runs) >= MIN_FOLDS for runs in panel.curves.values())


def _limits(seconds: Numbers) -> tuple[float, float]:
    """Compute the limits of the time axis, with a margin at both ends, never equal."""
    searched = seconds[seconds > 0]
    first, last = (searched.min(), searched.max()) if len(searched) else (1.0, 1.0)
    half = max((last / first) ** (0.5 + ROOM), LEAST_RATIO**0.5)
    middle = np.sqrt(first * last)
    return float(middle / half), float(middle * half)


def at_stops(runs: Sequence[RaceCurve]) -> tuple[Numbers, Numbers]:
    """Return the median time of each stop, and values of shape (n_runs, n_stops).

    Stops at the same time count as one.
    """
    points = np.array(runs)
    by_time = {float(np.median(stop[:, 0])): stop[:, 1] for stop in points.swapaxes(0, 1)}
    return np.array(list(by_time)), np.stack(list(by_time.values()), axis=1)


def add_race_legend(figure: Figure, panels: Sequence[RacePanel]) -> None:
    """Add a legend below a figure whose panels `draw_race` has drawn."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        entries |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    title = "median over folds at each stop"
    if any(map(_has_intervals, panels)):
        title += (
            f", with its interval of {100 * FOLD_COVERAGE:g} %; methods are offset horizontally"
        )
    figure.legend(
        entries.values(),
        entries,
        title=title,
        loc="outside lower center",
        ncols=int(figure.get_figwidth() / ENTRY_WIDTH),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
    )
