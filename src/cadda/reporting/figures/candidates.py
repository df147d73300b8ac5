"""A picture of a race between policies: gains from block to block, and gains in accuracy."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from cadda.drawing.figure import Figure
from cadda.drawing.panels import COLOURS, DASHES, empty_figure, remove_frame
from cadda.reporting.race import COVERAGE, CandidateRow, RaceFacts, RaceVerdict

__all__ = ["gain_span", "plot_race", "span_of"]

DROPPED, OTHER = "0.75", "0.45"

N_INTERVALS = 10
"""Candidates whose gain in accuracy is drawn."""
LABEL_WIDTH, MAX_LINES = 28, 2
"""Characters in a line of a label, and its lines."""
LINE_HEIGHT = 0.038
"""Height of such a line as a fraction of the axes."""
MARGIN = 0.08
"""Above and below the lines, as a fraction of their range."""


def plot_race(facts: RaceFacts) -> Figure:
    """Draw a race between policies.

    Parameters
    ----------
    facts : RaceFacts
        The race, as far as it has come.

    Returns
    -------
    matplotlib.figure.Figure
        Left: mean gain of each candidate up to each block; grey lines end where candidates were
        dropped. Right: gains in balanced accuracy of the best candidates with 90 % intervals, and
        below them that of the chosen candidate in blocks that had no part in the choice.
    """
    compared = [row for row in facts.candidates if row.name != "none" and row.gains]
    if not compared:
        return empty_figure()
    best = [row for row in compared if not row.is_dropped][: len(COLOURS)]
    styles = {row.name: i for i, row in enumerate(best)}
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    shown, decision = compared[:N_INTERVALS], facts.decision
    heights = (len(shown) + 1,) if decision is None else (len(shown) + 1, 2)
    grid = figure.add_gridspec(len(heights), 2, width_ratios=(1, 1), height_ratios=heights)
    _draw_running_means(figure.add_subplot(grid[:, 0]), compared, styles, gain_span(facts))
    right = figure.add_subplot(grid[0, 1])
    _draw_accuracies(right, shown, styles)
    if decision is not None:
        _draw_decision(figure.add_subplot(grid[1, 1], sharex=right), decision)
        right.tick_params(labelbottom=False)
    return figure


def gain_span(facts: RaceFacts) -> tuple[float, float]:
    """Return the range of mean gains to draw."""
    return span_of(
        [gain for row in facts.survivors for gain in row.running_gains],
        [gain for row in facts.dropped for gain in row.running_gains],
    )


def span_of(leading: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Return an axis with 0 and all leading values; others that are far from them are cut off."""
    outer = [0.0, *leading, *others]
    inner = [0.0, *leading] if any(leading) else outer
    room = (max(inner) - min(inner)) or 1.0
    low = max(min(outer), min(inner) - room / 2)
    high = min(max(outer), max(inner) + room / 2)
    return low - MARGIN * room, high + MARGIN * room


def _draw_running_means(
    axes: Axes, rows: Sequence[CandidateRow], styles: Mapping[str, int], span: tuple[float, float]
) -> None:
    axes.axhline(0, color="black", linewidth=0.6)
    # The best last, so that they are in front.
    for row in reversed(rows):
        means = row.running_gains
        blocks = range(1, len(means) + 1)
        line = axes.plot(blocks, means, color=_colour(row, styles), linewidth=0.9)[0]
        if row.is_dropped:
            line.set(marker="x", markersize=5, markevery=[-1])
        elif row.name in styles:
            line.set(linestyle=DASHES[styles[row.name]], linewidth=1.8)
            line.set(marker="o", markersize=3, markevery=[-1])
    n_below = sum(max(row.running_gains) < span[0] for row in rows)
    if n_below:
        axes.text(
            0.02, 0.02, f"{n_below} below", color=OTHER, fontsize=8, transform=axes.transAxes
        )
    axes.set_ylim(*span)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("block (× last one of a dropped candidate)", fontsize=8)
    axes.set_title(
        "Mean gain over no augmentation (log of the validation loss)", fontsize=9, loc="left"
    )
    remove_frame(axes)
    ends = [
        (row.name, len(row.gains), row.running_gains[-1], _colour(row, styles)) for row in rows
    ]
    _label_ends(
        axes, [("no augmentation", axes.get_xlim()[1], 0.0, "black"), *ends[: len(styles)]]
    )


def _label_ends(axes: Axes, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """Write names beside the ends (x, y) of lines, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: -end[2])
    texts = [_label(name) for name, *_ in ends]
    places = _moved_apart(
        [(y - low) / (high - low) for _, _, y, _ in ends],
        [LINE_HEIGHT * (text.count("\n") + 1.5) for text in texts],
    )
    for (_, x, y, colour), text, place in zip(ends, texts, places, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0, 0.5)}
        axes.annotate(
            text,
            (x, y),
            xytext=(1.04, place),
            textcoords="axes fraction",
            color=colour,
            fontsize=8,
            va="center",
            arrowprops=line,
            annotation_clip=False,
            parse_math=False,
        )


def _moved_apart(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return places in [0, 1], from top to bottom, at which labels do not overlap."""
    gaps = [(a + b) / 2 for a, b in pairwise(heights)]
    moved = [min(1.0, place) for place in places]
    for i, gap in enumerate(gaps, start=1):
        moved[i] = min(moved[i], moved[i - 1] - gap)
    moved[-1] = max(moved[-1], 0.0)
    for i in reversed(range(len(gaps))):
        moved[i] = max(moved[i], moved[i + 1] + gaps[i])
    return moved


def _draw_accuracies(axes: Axes, rows: Sequence[CandidateRow], styles: Mapping[str, int]) -> None:
    title = f"Gain in balanced accuracy, {COVERAGE:.0%} intervals"
    axes.set_title(title, fontsize=9, loc="left")
    _draw_intervals(
        axes,
        [row.name for row in rows],
        [(row.accuracy_gain, row.accuracy_low, row.accuracy_high) for row in rows],
        [_colour(row, styles) for row in rows],
    )


def _draw_decision(axes: Axes, decision: RaceVerdict) -> None:
    title = f"The same in {decision.n_blocks} blocks that had no part in the choice"
    axes.set_title(title, fontsize=9, loc="left")
    values = [(decision.gain, decision.low, decision.high)]
    _draw_intervals(axes, [decision.candidate], values, ["black"], marker="D")


def _colour(row: CandidateRow, styles: Mapping[str, int]) -> str:
    if row.name in styles:
        return COLOURS[styles[row.name]]
    return DROPPED if row.is_dropped else OTHER


def _draw_intervals(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[tuple[float, float | None, float | None]],
    colours: Sequence[str],
    *,
    marker: str = "o",
) -> None:
    axes.axvline(0, color="black", linewidth=0.6)
    for place, ((value, low, high), colour) in enumerate(zip(values, colours, strict=True)):
        if low is not None and high is not None:
            axes.plot([low, high], [place] * 2, color=colour, linewidth=2, solid_capstyle="butt")
        axes.plot(value, place, marker, color=colour, markersize=6)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [_label(name) for name in names], parse_math=False)
    remove_frame(axes)
    axes.tick_params(axis="y", length=0, labelsize=8)


def _label(name: str) -> str:
    lines = textwrap.wrap(name, LABEL_WIDTH, max_lines=MAX_LINES, placeholder=" …")
    return "\n".join(lines)
