"""Heat maps with a text in each cell, and those of the operations in policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import operation_title, row_label, short_magnitude, summarise

__all__ = ["OperationUse", "draw_heatmap", "draw_selected", "plot_operation_use", "plot_selected"]

DARK = 0.5
"""Part of the colour scale beyond which text is white."""
LINE_OFFSETS = (-0.15, 0.22)

Texts: TypeAlias = Sequence[Sequence[str]]


def draw_heatmap(
    axes: Axes,
    values: NDArray[np.float64],
    texts: Texts,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    vmax: float | None = None,
    notes: Texts | None = None,
    fontsize: float = 8,
) -> AxesImage:
    """Draw values as colours, from 0 up in blue.

    Blue is full at ``vmax``, by default the largest value. ``notes`` are written below the texts,
    smaller.
    """
    picture = axes.imshow(values, cmap="Blues", vmin=0, vmax=vmax, aspect="auto")
    largest = values.max() if vmax is None else vmax
    for (row, column), value in np.ndenumerate(values):
        lines = [(texts[row][column], fontsize)]
        if notes is not None:
            lines.append((notes[row][column], fontsize - 2))
        for (text, size), offset in zip(
            lines, LINE_OFFSETS if notes is not None else (0.0,), strict=True
        ):
            axes.text(
                column,
                row + offset,
                text,
                ha="center",
                va="center",
                fontsize=size,
                color="white" if value > DARK * largest else "black",
            )
    axes.set_xticks(range(len(columns)), [operation_title(name) for name in columns])
    axes.set_yticks(range(len(rows)), rows)
    return picture


def plot_operation_use(policy: PolicySpec) -> Figure:
    """Draw how often each operation changes a window, per class, as a heat map."""
    table = summarise(policy)
    n_rows, n_columns = table.applied.shape
    figure = Figure(figsize=(2.8 + 0.75 * n_columns, 2.6 + 0.55 * n_rows), layout="constrained")
    axes = figure.add_subplot()
    if policy.is_none:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no augmentation", ha="center", va="center", fontsize=14)
        return figure
    picture = draw_heatmap(
        axes,
        table.applied,
        [[f"{value:.0%}" for value in row] for row in table.applied],
        rows=[row_label(name) for name in table.rows],
        columns=table.operations,
        notes=[
            [
                short_magnitude(name, table.magnitudes(i, k))
                for k, name in enumerate(table.operations)
            ]
            for i in range(n_rows)
        ],
        fontsize=9,
    )
    _tilt_labels(axes)
    figure.colorbar(picture, label="probability of changing a window", shrink=0.9)
    method = policy.provenance.method
    axes.set_title("Operations used" + (f" by the policy that {method} found" if method else ""))
    return figure


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
    picture = draw_heatmap(axes, values, texts, rows=labels, columns=use.operations, fontsize=7)
    _tilt_labels(axes)
    axes.tick_params(axis="y", labelsize=8)
    for edge in np.cumsum([len(names) for names in use.rows.values()])[:-1]:
        axes.axhline(edge - 0.5, color="black", linewidth=1)
    axes.figure.colorbar(picture, label="probability of changing a window", shrink=0.8)


def _tilt_labels(axes: Axes) -> None:
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
