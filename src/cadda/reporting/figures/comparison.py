"""Figure of methods compared fold by fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

__all__ = ["plot_comparison"]

FOLD: dict[str, Any] = {"color": "0.6", "marker": "o", "markersize": 5}
MEAN: dict[str, Any] = {
    "color": "C0",
    "marker": "_",
    "markersize": 24,
    "markeredgewidth": 3,
    "linestyle": "",
}
INTERVAL: dict[str, Any] = {"color": "C0", "marker": "_", "markersize": 10}
ASIDE = 0.12
"""Offset of the gains in folds to the left of means and intervals."""

Scores = Mapping[str, Mapping[int, float]]


def plot_comparison(
    scores: Scores,
    plain: str,
    label: str,
    intervals: Mapping[str, tuple[float, float]],
) -> Figure:
    """Draw scores, a line per fold, and gains over ``plain``, with means and 95 % intervals."""
    figure = Figure(figsize=(4 + 1.5 * len(scores), 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_scores(left, scores)
    left.set_ylabel(label)
    _draw_gains(right, scores, plain, intervals)
    right.set_ylabel(f"gain over {plain}")
    for axes in (left, right):
        axes.margins(x=0.12)
        axes.grid(alpha=0.3, axis="y")
        axes.spines[["top", "right"]].set_visible(False)
    lines = [Line2D([], [], **FOLD, label="a fold"), Line2D([], [], **MEAN, label="mean")]
    if intervals:
        lines.append(Line2D([], [], **INTERVAL, label="95 % interval of the mean gain"))
    figure.legend(handles=lines, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_scores(axes: Axes, scores: Scores) -> None:
    names = list(scores)
    for fold in sorted({fold for by_fold in scores.values() for fold in by_fold}):
        places = [i for i, name in enumerate(names) if fold in scores[name]]
        axes.plot(places, [scores[names[i]][fold] for i in places], **FOLD)
    means = [float(np.mean(list(by_fold.values()))) for by_fold in scores.values()]
    axes.plot(range(len(names)), means, **MEAN)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")


def _draw_gains(
    axes: Axes, scores: Scores, plain: str, intervals: Mapping[str, tuple[float, float]]
) -> None:
    others = [name for name in scores if name != plain] if plain in scores else []
    axes.axhline(0, color="0.4", linestyle="--")
    for i, name in enumerate(others):
        gains = [
            value - scores[plain][fold]
            for fold, value in scores[name].items()
            if fold in scores[plain]
        ]
        axes.plot([i - ASIDE] * len(gains), gains, **FOLD, linestyle="")
        if gains:
            axes.plot(i, float(np.mean(gains)), **MEAN)
        if name in intervals:
            axes.plot([i] * 2, intervals[name], **INTERVAL)
    axes.set_xticks(range(len(others)), others, rotation=30, ha="right")
