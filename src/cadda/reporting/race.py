"""Pictures of searches against time, and of what they chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from cadda.reporting.intervals import interval_of_median

__all__ = [
    "RacePanel",
    "aligned",
    "draw_race",
    "draw_selected",
    "plot_race",
    "plot_selected",
]

Run = Sequence[tuple[float, float]]
"""Points (seconds, value) of one search, in the order of time."""


@dataclass(frozen=True)
class RacePanel:
    """What one panel shows.

    Parameters
    ----------
    title : str
        Stands above it.
    label : str
        What its values are.
    curves : mapping of str to sequence of sequence of (float, float)
        Runs of each search by its name: seconds and values, a run per fold.
    level : sequence of float
        Values without augmentation, one per fold; empty if there are none.
    """

    title: str
    label: str
    curves: Mapping[str, Sequence[Run]]
    level: Sequence[float]


def plot_race(rows: Sequence[Sequence[RacePanel]]) -> Figure:
    """Draw values against the time of searching: medians over folds, with intervals.

    Parameters
    ----------
    rows : sequence of sequence of RacePanel
        Panels in rows; a name has the same colour in all of them.

    Returns
    -------
    matplotlib.figure.Figure
        Steps, since a value holds until a better policy is found; bands are bootstrap intervals
        of 75 %, the dashed line is training without augmentation.
    """
    n_columns = max(len(row) for row in rows)
    figure = Figure(figsize=(1 + 5 * n_columns, 0.8 + 3.4 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), n_columns, squeeze=False, sharex=True, sharey="row")
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.curves))
    colours = colormaps["tab20"](range(20))
    # The strong colours come first, the pale ones of the same hue only after them.
    order = [*colours[::2], *colours[1::2]]
    colour = {name: order[i % len(order)] for i, name in enumerate(names)}
    for axes_row, row in zip(grid, rows, strict=True):
        for axes, panel in zip(axes_row, row, strict=True):
            draw_race(axes, panel, colour)
        axes_row[0].set_ylabel(row[0].label)
    for axes in grid[-1]:
        axes.set_xlabel("computing time of the search (s)")
    entries: dict[str, Any] = {}
    for axes in grid.flat:
        entries |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        entries.values(), entries, loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure


def draw_race(axes: Axes, panel: RacePanel, colour: Mapping[str, Any]) -> None:
    """Draw the curves of a panel.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    panel : RacePanel
        What to draw.
    colour : mapping of str to object
        Colour of each curve by its name.
    """
    last = max((run[-1][0] for runs in panel.curves.values() for run in runs), default=1.0)
    for name, runs in panel.curves.items():
        seconds, values = aligned(runs, last)
        low, middle, high = interval_of_median(values)
        axes.step(seconds, middle, where="post", color=colour[name], label=name)
        # Marked is where a policy was trained and tested: when all runs have come to a stop.
        stops = {max(times) for times in zip(*([t for t, _ in run] for run in runs), strict=False)}
        marks = np.isin(seconds, list(stops))
        axes.plot(seconds[marks], middle[marks], "o", color=colour[name], markersize=4)
        axes.fill_between(
            seconds, low, high, alpha=0.12, linewidth=0, step="post", color=colour[name]
        )
    if len(panel.level):
        axes.axhline(
            float(np.median(panel.level)), color="0.4", linestyle="--", label="no augmentation"
        )
    axes.set_title(panel.title, fontsize=10)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def aligned(runs: Sequence[Run], end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bring runs with times of their own to common times.

    Parameters
    ----------
    runs : sequence of sequence of (float, float)
        Points of each run.
    end : float
        Last time to show.

    Returns
    -------
    seconds : array of shape (n_times,)
        From when all runs have a value, up to the end.
    values : array of shape (n_runs, n_times)
        The last value of each run at that time.
    """
    start = max(run[0][0] for run in runs)
    inside = {time for run in runs for time, _ in run if start < time < end}
    seconds = np.array(sorted({start, max(start, end), *inside}))
    values = np.empty((len(runs), len(seconds)))
    for row, run in zip(values, runs, strict=True):
        times, found = (np.array(column) for column in zip(*run, strict=True))
        row[:] = found[np.searchsorted(times, seconds, side="right") - 1]
    return seconds, values


def plot_selected(
    tables: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, Sequence[str]],
    operations: Sequence[str],
) -> Figure:
    """Draw how often each operation is used by policies, as one heat map.

    Parameters
    ----------
    tables : mapping of str to array
        Probabilities of changing a window by the name of the method, each of shape
        (n_rows, n_operations).
    rows : mapping of str to sequence of str
        Names of the rows of each: classes, or that it is for all of them.
    operations : sequence of str
        Names of the columns.

    Returns
    -------
    matplotlib.figure.Figure
        A band of rows per method.
    """
    n_rows = sum(map(len, rows.values()))
    size = (3.5 + 0.62 * len(operations), 1.8 + 0.34 * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    draw_selected(figure.add_subplot(), tables, rows, operations)
    return figure


def draw_selected(
    axes: Axes,
    tables: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, Sequence[str]],
    operations: Sequence[str],
) -> None:
    """Draw the heat map of `plot_selected`.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    tables : mapping of str to array
        Probabilities by the name of the method.
    rows : mapping of str to sequence of str
        Names of the rows of each.
    operations : sequence of str
        Names of the columns.
    """
    labels = [f"{method}: {row}" for method, names in rows.items() for row in names]
    values = np.concatenate([tables[method] for method in rows])
    picture = axes.imshow(values, cmap="Blues", vmin=0, aspect="auto")
    middle = values.max() / 2
    for (row, column), value in np.ndenumerate(values):
        shade = "white" if value > middle else "black"
        axes.text(column, row, f"{value:.0%}", ha="center", va="center", fontsize=7, color=shade)
    words = [name.replace("_", " ") for name in operations]
    axes.set_xticks(range(len(words)), words, rotation=40, ha="right")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    for edge in np.cumsum([len(names) for names in rows.values()])[:-1]:
        axes.axhline(edge - 0.5, color="black", linewidth=1)
    axes.figure.colorbar(picture, label="probability of changing a window", shrink=0.8)
