"""Heat maps with a text in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

__all__ = ["Texts", "draw_heatmap", "tilt_labels"]

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
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    return picture


def tilt_labels(axes: Axes) -> None:
    """Tilt the labels of columns, for long names."""
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
