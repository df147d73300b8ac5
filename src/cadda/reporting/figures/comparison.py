"""The figure of a comparison: accuracies, and gains over no augmentation by subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from cadda._internal.statistics import Estimate
from cadda.drawing.figure import Figure
from cadda.drawing.panels import empty_figure, remove_frame
from cadda.reporting.race import COVERAGE

__all__ = ["ComparedGain", "plot_comparison"]

COLOUR, CHOSEN, SUBJECT = "#0b63b0", "#15803d", "0.7"
SPREAD = 0.3
"""Largest offset of a subject from its row, so that subjects with the same gain are seen."""

MAX_TICKS = 4
"""Intervals between the ticks of the narrow panel, whose labels would overlap."""


@dataclass(frozen=True)
class ComparedGain:
    """A row of the figure."""

    name: str
    accuracy: Estimate
    gain: Estimate
    by_subject: tuple[float, ...]


def plot_comparison(
    compared: Sequence[ComparedGain], *, plain: str, chosen: str | None = None
) -> Figure:
    """Draw accuracies, and gains over ``plain`` by subject, with means and intervals."""
    if not compared:
        return empty_figure()
    figure = Figure(figsize=(9, 1.6 + 0.42 * len(compared)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1, 2))
    places = range(len(compared))
    for place, row in zip(places, compared, strict=True):
        colour = CHOSEN if row.name == chosen else COLOUR
        _draw_estimate(left, place, row.accuracy, colour)
        if row.name != plain:
            _draw_gain(right, place, row, colour)
    right.axvline(0, color="black", linewidth=0.6)
    left.set_xlabel("balanced accuracy", fontsize=9)
    right.set_xlabel(f"gain over {plain}", fontsize=9)
    left.set_yticks(places, [row.name for row in compared], parse_math=False)
    left.set_ylim(len(compared) - 0.4, -0.6)
    left.margins(x=0.2)
    left.locator_params(axis="x", nbins=MAX_TICKS)
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
        remove_frame(axes)
        axes.tick_params(axis="y", length=0, labelsize=9)
    for label, row in zip(left.get_yticklabels(), compared, strict=True):
        label.set_color(CHOSEN if row.name == chosen else "black")
    figure.legend(
        handles=_legend(chosen), loc="outside lower center", ncols=3, frameon=False, fontsize=9
    )
    return figure


def _draw_gain(axes: Axes, place: int, row: ComparedGain, colour: str) -> None:
    # Evenly spread in the order of subjects, which is not that of gains.
    offsets = np.linspace(-SPREAD, SPREAD, len(row.by_subject))
    axes.plot(row.by_subject, place + offsets, ".", color=SUBJECT, markersize=4)
    _draw_estimate(axes, place, row.gain, colour)


def _draw_estimate(axes: Axes, place: int, estimate: Estimate, colour: str) -> None:
    if estimate.is_bounded:
        ends = [estimate.low, estimate.high]
        axes.plot(ends, [place] * 2, color=colour, linewidth=2.5, solid_capstyle="butt")
    axes.plot(estimate.value, place, "o", color=colour, markersize=6)


def _legend(chosen: str | None) -> list[Line2D]:
    interval = f"all subjects, with {100 * COVERAGE:g} % interval"
    handles = [
        Line2D([], [], color=SUBJECT, marker=".", linestyle="", label="a subject"),
        Line2D([], [], color=COLOUR, marker="o", linewidth=2.5, label=interval),
    ]
    if chosen is not None:
        handles.append(Line2D([], [], color=CHOSEN, marker="o", label="chosen"))
    return handles
