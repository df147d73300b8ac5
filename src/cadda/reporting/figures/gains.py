"""Figures of the gain from augmentation, over folds: by operation and by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator, PercentFormatter
from numpy.typing import NDArray

from cadda._internal.statistics import FOLD_COVERAGE, median_estimate
from cadda.drawing.figure import Figure
from cadda.drawing.panels import empty_figure, panel_grid

__all__ = ["plot_classwise", "plot_gain_curves"]

COLOUR = "#0b63b0"
OTHERS = "#cccccc"
COLOURS = ("#5ab4ac", "#d8b365", "#7b3294")
WIDTH = 0.25


def plot_gain_curves(
    gains: Mapping[str, Mapping[float, Sequence[float]]], *, xlabel: str, log2: bool = False
) -> Figure:
    """Draw one panel per operation, with the others in grey behind it.

    Relative gains are by place on the axis, one value per fold; their medians are drawn.
    """
    if not gains:
        return empty_figure()
    figure, panels = panel_grid(list(gains), xlabel)
    curves = [_curve(by_place) for by_place in gains.values()]
    for axes, (x, middle, low, high) in zip(panels, curves, strict=True):
        for other_x, other_middle, _, _ in curves:
            axes.plot(other_x, other_middle, color=OTHERS, linewidth=0.7)
        axes.axhline(0, color="black", linewidth=0.6)
        axes.fill_between(x, low, high, color=COLOUR, alpha=0.2, linewidth=0)
        axes.plot(x, middle, color=COLOUR, marker="o", markersize=3)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    if log2:
        ticks = sorted({x for by_place in gains.values() for x in by_place})
        panels[0].set_xscale("log", base=2)
        panels[0].set_xticks(ticks, [f"{x:g}" for x in ticks])
        panels[0].xaxis.set_minor_locator(NullLocator())
    caption = ["blue: median over folds"]
    if not all(np.isnan(low).all() for _, _, low, _ in curves):
        caption.append(f"band: its {100 * FOLD_COVERAGE:g} % bootstrap interval")
    if len(curves) > 1:
        caption.append("grey: the other operations")
    figure.supxlabel("; ".join(caption), fontsize=9)
    figure.supylabel("relative gain in balanced accuracy", fontsize=9)
    return figure


def _curve(gains: Mapping[float, Sequence[float]]) -> NDArray[np.float64]:
    """Return places, medians over folds, and the ends of their intervals, as rows."""
    estimates = [(x, median_estimate(gains[x])) for x in sorted(gains)]
    return np.array([(x, gain.value, gain.low, gain.high) for x, gain in estimates]).T


def plot_classwise(
    f1: Mapping[str, Mapping[str, Sequence[float]]],
    accuracy: Mapping[str, Sequence[float]],
    *,
    note: str,
) -> Figure:
    """Draw box plots over folds of gains in F1 by class, and of relative gains in accuracy.

    Keys are up to three policies; ``note`` describes the last.
    """
    if not f1:
        return empty_figure()
    classes = list(next(iter(f1.values())))
    figure = Figure(figsize=(5 + 1.2 * len(classes), 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2 * len(classes), 2))
    for i, (by_class, colour) in enumerate(zip(f1.values(), COLOURS, strict=False)):
        places = [k + (i - (len(f1) - 1) / 2) * WIDTH for k in range(len(classes))]
        _boxes(left, places, [by_class[name] for name in classes], colour)
    for i, (values, colour) in enumerate(zip(accuracy.values(), COLOURS, strict=False)):
        _boxes(right, [i * WIDTH], [values], colour)
    left.set_xticks(range(len(classes)), classes)
    left.set_xlabel(f"class-wise: {note}", fontsize=9)
    left.set_ylabel("gain in F1 (difference)")
    places = [i * WIDTH for i in range(len(accuracy))]
    right.set_xticks(places, [name.replace(" ", "\n") for name in accuracy], fontsize=8)
    right.set_xlabel("all classes together", fontsize=9)
    right.set_ylabel("relative gain in balanced accuracy")
    right.yaxis.set_major_formatter(PercentFormatter(1))
    for axes in (left, right):
        axes.axhline(0, color="black", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    handles = [Patch(color=c, label=name) for name, c in zip(f1, COLOURS, strict=False)]
    points = Line2D([], [], color="0.3", marker=".", linestyle="", label="a fold")
    box = Patch(facecolor="0.8", edgecolor="0.5", label="quartiles and median over folds")
    figure.legend(
        handles=[*handles, points, box],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    return figure


def _boxes(
    axes: Axes, places: Sequence[float], values: Sequence[Sequence[float]], colour: str
) -> None:
    axes.boxplot(
        values,
        positions=places,
        widths=0.8 * WIDTH,
        manage_ticks=False,
        patch_artist=True,
        showfliers=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.5},
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    for place, some in zip(places, values, strict=True):
        axes.plot([place] * len(some), some, ".", color=colour, markersize=4)
