"""Pictures of what augmentation gains: a panel per operation, all on the same scale."""

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
    """A gain over something, with its interval.

    Parameters
    ----------
    x : sequence of float
        Where it was measured, in rising order.
    middle : sequence of float
        The gain, in parts of the score without augmentation.
    low : sequence of float
        Lower ends of the intervals; not a number where there is none.
    high : sequence of float
        Upper ends of the intervals.
    """

    x: Sequence[float]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def plot_gain_curves(curves: Mapping[str, Curve], *, xlabel: str, log2: bool = False) -> Figure:
    """Draw one panel per curve, with the others in grey behind it.

    Parameters
    ----------
    curves : mapping of str to Curve
        Curves by title.
    xlabel : str
        What they are over.
    log2 : bool
        Whether the horizontal axis has a tick wherever something was measured, at equal
        distances for equal ratios.

    Returns
    -------
    matplotlib.figure.Figure
        Small panels with common axes; the vertical one is in percent. A line below says what
        lines and bands are.
    """
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
        words.append(f"band: its interval with a confidence of {100 * FOLD_COVERAGE:g} %")
    if len(curves) > 1:
        words.append("grey: the other operations")
    return "; ".join(words)


def _draw(axes: Axes, curve: Curve) -> None:
    axes.axhline(0, color="black", linewidth=0.6)
    axes.fill_between(curve.x, curve.low, curve.high, color=COLOUR, alpha=0.2, linewidth=0)
    axes.plot(curve.x, curve.middle, color=COLOUR, marker="o", markersize=3)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
