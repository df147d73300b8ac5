"""Small panels with common axes, filled row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from cadda.drawing.figure import Figure

__all__ = ["COLOURS", "DASHES", "empty_figure", "panel_grid", "remove_frame"]

COLOURS = ("#0b63b0", "#c2410c", "#15803d", "#7e3fb2", "#a16207", "#be185d")
"""Those of the report."""
DASHES = ("-", (0, (6, 2)), "-", (0, (2, 1.5)), "-", (0, (6, 2, 1.5, 2)))
"""For readers who cannot distinguish the colours."""


def panel_grid(
    titles: Sequence[str],
    xlabel: str,
    *,
    n_columns: int = 5,
    size: tuple[float, float] = (2.3, 2.0),
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each title; the lowest of each column have labels."""
    n_columns = min(n_columns, len(titles))
    n_rows = math.ceil(len(titles) / n_columns)
    figsize = (1.2 + size[0] * n_columns, 1.2 + size[1] * n_rows)
    figure = Figure(figsize=figsize, layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    every: list[Axes] = grid.ravel().tolist()
    for axes in every[len(titles) :]:
        axes.set_axis_off()
    panels = every[: len(titles)]
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize=9)
        remove_frame(axes)
    for axes in panels[-n_columns:]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(xlabel, fontsize=8)
    return figure, panels


def remove_frame(axes: Axes) -> None:
    """Leave only two sides of the frame, with small numbers."""
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def empty_figure() -> Figure:
    """Make the figure of a study that has too few results to compare anything."""
    figure = Figure(figsize=(4, 1))
    figure.text(0.5, 0.3, "nothing can be compared yet", ha="center")
    return figure
