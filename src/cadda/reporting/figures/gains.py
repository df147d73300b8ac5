"""Figures of the gain from augmentation: a panel per operation, all on the same scale."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from cadda._internal.statistics import FOLD_COVERAGE
from cadda.reporting.figures.panels import empty_figure, panel_grid

__all__ = ["Curve", "plot_gain_curves"]

COLOUR = "#0b63b0"
OTHERS = "#cccccc"


@dataclass(frozen=True)
class Curve:
    """Relative gains at increasing ``x``, with intervals; NaN where there is none."""

    x: Sequence[float]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def plot_gain_curves(curves: Mapping[str, Curve], *, xlabel: str, log2: bool = False) -> Figure:
    """Draw one panel per curve, with the others in grey behind it."""
    if not curves:
        return empty_figure()
    figure, panels = panel_grid(list(curves), xlabel)
    for axes, curve in zip(panels, curves.values(), strict=True):
        for other in curves.values():
            axes.plot(other.x, other.middle, color=OTHERS, linewidth=0.7)
        _draw(axes, curve)
    if log2:
        ticks = sorted({x for curve in curves.values() for x in curve.x})
        panels[0].set_xscale("log", base=2)
        panels[0].set_xticks(ticks, [f"{x:g}" for x in ticks])
        panels[0].xaxis.set_minor_locator(NullLocator())
    figure.supxlabel(_caption(curves.values()), fontsize=9)
    figure.supylabel("relative gain in balanced accuracy", fontsize=9)
    return figure


def _caption(curves: Collection[Curve]) -> str:
    words = ["blue: median over folds"]
    if not all(math.isnan(end) for curve in curves for end in curve.low):
        words.append(f"band: its {100 * FOLD_COVERAGE:g} % bootstrap interval")
    if len(curves) > 1:
        words.append("grey: the other operations")
    return "; ".join(words)


def _draw(axes: Axes, curve: Curve) -> None:
    axes.axhline(0, color="black", linewidth=0.6)
    axes.fill_between(curve.x, curve.low, curve.high, color=COLOUR, alpha=0.2, linewidth=0)
    axes.plot(curve.x, curve.middle, color=COLOUR, marker="o", markersize=3)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
