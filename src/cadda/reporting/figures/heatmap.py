"""Heat maps of the operations that policies of several methods use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from cadda.drawing.figure import Figure
from cadda.drawing.heatmap import draw_heatmap, tilt_labels
from cadda.policies.spec.summary import operation_title

__all__ = ["OperationUse", "draw_selected", "plot_selected"]


@dataclass(frozen=True)
class OperationUse:
    """Probabilities of applying operations by method, each of shape (n_rows, n_operations)."""

    tables: Mapping[str, NDArray[np.float64]]
    rows: Mapping[str, Sequence[str]]
    """Names of the rows by method: classes, or "all classes"."""
    operations: Sequence[str]


def plot_selected(use: OperationUse) -> Figure:
    """Draw how often policies apply each operation, as a heat map with a band per method."""
    n_rows = sum(map(len, use.rows.values()))
    size = (3.5 + 0.62 * len(use.operations), 1.8 + 0.34 * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    draw_selected(figure.add_subplot(), use)
    return figure


def draw_selected(axes: Axes, use: OperationUse) -> None:
    """Draw the heat map of `plot_selected`."""
    labels = [f"{method}: {row}" for method, names in use.rows.items() for row in names]
    values = np.concatenate([use.tables[method] for method in use.rows])
    texts = [[f"{value:.0%}" for value in row] for row in values]
    columns = [operation_title(name) for name in use.operations]
    picture = draw_heatmap(axes, values, texts, rows=labels, columns=columns, fontsize=7)
    tilt_labels(axes)
    axes.tick_params(axis="y", labelsize=8)
    for edge in np.cumsum([len(names) for names in use.rows.values()])[:-1]:
        axes.axhline(edge - 0.5, color="black", linewidth=1)
    axes.figure.colorbar(picture, label="probability of\nchanging a window", shrink=0.8)
