"""Picture of methods compared fold by fold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

__all__ = ["plot_comparison"]


def plot_comparison(
    scores: Mapping[str, Mapping[int, float]],
    plain: str,
    label: str,
    intervals: Mapping[str, tuple[float, float]],
) -> Figure:
    """Draw the scores of each fold, and what each method gains over none.

    Parameters
    ----------
    scores : mapping of str to mapping of int to float
        Scores by method and fold.
    plain : str
        Name of the method that is none.
    label : str
        What the scores are.
    intervals : mapping of str to (float, float)
        95 % intervals of the mean gains, by method.

    Returns
    -------
    matplotlib.figure.Figure
        Left: scores, a line per fold; right: differences to none, dots are folds, bars means and
        whiskers their intervals.
    """
    names = list(scores)
    figure = Figure(figsize=(4 + 1.5 * len(names), 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for fold in sorted({fold for one in scores.values() for fold in one}):
        places = [i for i, name in enumerate(names) if fold in scores[name]]
        left.plot(places, [scores[names[i]][fold] for i in places], "o-", color="0.7", zorder=1)
    means = [float(np.mean(list(scores[name].values()))) for name in names]
    left.plot(range(len(names)), means, "_", color="C0", markersize=28, markeredgewidth=3)
    left.set_xticks(range(len(names)), names, rotation=30, ha="right")
    left.set_ylabel(label)
    others = [name for name in names if name != plain] if plain in scores else []
    right.axhline(0, color="0.4", linestyle="--")
    for i, name in enumerate(others):
        gains = [
            value - scores[plain][fold]
            for fold, value in scores[name].items()
            if fold in scores[plain]
        ]
        if gains:
            right.bar(i, float(np.mean(gains)), width=0.6, color="C0", alpha=0.4)
        right.plot([i] * len(gains), gains, "o", color="0.3", markersize=5)
        if name in intervals:
            right.plot([i + 0.2] * 2, intervals[name], "_-", color="C0", markersize=10)
    right.set_xticks(range(len(others)), others, rotation=30, ha="right")
    right.set_ylabel(f"gain over {plain}, mean with 95 % interval")
    for axes in (left, right):
        axes.margins(x=0.12)
        axes.grid(alpha=0.3, axis="y")
        axes.spines[["top", "right"]].set_visible(False)
    return figure
