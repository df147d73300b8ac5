"""A picture of a screening: operations by classes, and rewards over magnitudes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.reporting.figures.heatmap import draw_heatmap
from cadda.reporting.figures.panels import remove_frame
from cadda.reporting.records import REWARD_UNIT, VERDICT_RULE, ScreeningRow

__all__ = ["plot_screening"]

LARGEST = 8.0
"""Standard errors from 0 at which the colour is full."""

COLOURS = {"helps": "#2166ac", "hurts": "#b2182b", "undecided": "#8c8c8c", "control": "#8c8c8c"}
MARKS = {"helps": "▲", "hurts": "▼"}
N_COLUMNS = 2
CONFIDENCE = 1.96
CELL = 0.85
"""Inches of a column of the map."""

LETTERS = 17
"""Letters of the caption that fit in an inch, or a few less."""


def plot_screening(table: Sequence[ScreeningRow]) -> Figure:
    """Draw which operations help and which hurt, by class and by magnitude.

    Parameters
    ----------
    table : sequence of ScreeningRow
        The table of a screening.

    Returns
    -------
    matplotlib.figure.Figure
        Left a heat map of operations by classes, controls below a line: the colour is the mean
        reward in standard errors, the number the reward. Right the reward over the magnitude, for
        all classes together, with its 95 % interval.
    """
    overall = [row for row in table if row.magnitude is None]
    names = list(dict.fromkeys(row.operation for row in overall))
    classes = list(dict.fromkeys(row.class_name for row in overall))
    graded = list(dict.fromkeys(row.operation for row in table if row.magnitude is not None))
    n_rows = math.ceil(len(graded) / N_COLUMNS)
    width = 3.2 + CELL * len(classes)
    curves = 2.6 * min(N_COLUMNS, len(graded))
    figure = Figure(
        figsize=(width + curves, max(2.1 + 0.42 * len(names), 0.9 + 1.6 * n_rows)),
        layout="constrained",
    )
    if not graded:
        _draw_map(figure, overall, names, classes)
        return figure
    halves = figure.subfigures(1, 2, squeeze=False, width_ratios=(width, curves), wspace=0.03)
    _draw_map(halves[0, 0], overall, names, classes)
    _draw_curves(halves[0, 1], table, graded, n_rows)
    return figure


def _draw_map(
    figure: Figure | SubFigure,
    rows: Sequence[ScreeningRow],
    names: Sequence[str],
    classes: Sequence[str],
) -> None:
    axes = figure.add_subplot()
    cells = {(row.operation, row.class_name): row for row in rows}
    distance = np.array([[cells[name, c].in_errors for c in classes] for name in names])
    picture = draw_heatmap(
        axes,
        distance,
        [[_cell_text(cells[name, c]) for c in classes] for name in names],
        rows=[name.replace("_", " ") for name in names],
        columns=["all" if c == ALL_CLASSES else c for c in classes],
        limit=LARGEST,
        bold=np.array([[cells[name, c].verdict in MARKS for c in classes] for name in names]),
    )
    axes.set_facecolor("#e6e6e6")
    n_controls = sum(cells[name, ALL_CLASSES].verdict == "control" for name in names)
    axes.axhline(len(names) - n_controls - 0.5, color="black", linewidth=1.2)
    axes.axvline(0.5, color="white", linewidth=4)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, shrink=0.75, extend="both", location="bottom", pad=0.02)
    words = (
        f"Colour: mean reward in standard errors. Number: mean reward; {REWARD_UNIT}. "
        f"▲ helps, ▼ hurts. {VERDICT_RULE}"
    )
    bar.set_label(fill(words, int(LETTERS * (2 + CELL * len(classes)))), fontsize=8)
    bar.outline.set_visible(False)


def _cell_text(row: ScreeningRow) -> str:
    return f"{MARKS.get(row.verdict, '')} {_number(row.reward)}".strip()


def _number(value: float) -> str:
    """Write two digits after the point, and a third for what would be 0."""
    text = f"{value:+.2f}"
    return f"{value:+.3f}" if text in ("+0.00", "-0.00") else text


def _draw_curves(
    figure: Figure | SubFigure, table: Sequence[ScreeningRow], graded: Sequence[str], n_rows: int
) -> None:
    panels = figure.subplots(n_rows, N_COLUMNS, sharex=True, squeeze=False)
    every: list[Axes] = panels.ravel().tolist()
    for axes in every[len(graded) :]:
        axes.set_axis_off()
    for name, axes in zip(graded, every, strict=False):
        rows = [r for r in table if r.operation == name and r.class_name == ALL_CLASSES]
        _draw_curve(axes, sorted((r for r in rows if r.magnitude is not None), key=_magnitude))
        axes.set_title(_title(name), fontsize=8, loc="left")
    for axes in every[max(0, len(graded) - N_COLUMNS) : len(graded)]:
        axes.set_xlabel("magnitude", fontsize=8)
        axes.tick_params(labelbottom=True)
    handles = [
        Line2D([], [], color=COLOURS[v], marker="o", linestyle="", markersize=5, label=v)
        for v in ("helps", "hurts", "undecided")
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.suptitle("mean reward, all classes, with its 95 % interval", fontsize=9)


def _draw_curve(axes: Axes, rows: Sequence[ScreeningRow]) -> None:
    magnitude = np.array([_magnitude(row) for row in rows])
    reward = np.array([row.reward for row in rows])
    error = CONFIDENCE * np.nan_to_num([row.standard_error for row in rows])
    axes.axhline(0, color="#bbbbbb", linewidth=0.8)
    axes.fill_between(magnitude, reward - error, reward + error, color="#dddddd", linewidth=0)
    axes.plot(magnitude, reward, color="#555555", linewidth=1)
    axes.scatter(magnitude, reward, color=[COLOURS[row.verdict] for row in rows], s=22, zorder=3)
    low, high = float(np.min(reward - error)), float(np.max(reward + error))
    # Not less than this, so that rounding errors do not look like effects.
    axes.set_ylim(1.1 * min(low, -0.005), 1.1 * max(high, 0.005))
    axes.set_xlim(0, 1.05)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    remove_frame(axes)


def _magnitude(row: ScreeningRow) -> float:
    return 0.0 if row.magnitude is None else row.magnitude


def _title(name: str) -> str:
    entry = CATALOGUE.get(name)
    words = name.replace("_", " ")
    return f"{words}\n1: {entry.describe(1.0)}" if entry and entry.has_magnitude else words
