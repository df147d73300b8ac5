"""A heat map with a text in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

__all__ = ["draw_heatmap"]

DARK_SEQUENTIAL, DARK_DIVERGING = 0.5, 0.62
"""Parts of the colour scale beyond which text is white."""
LINE_OFFSETS = (-0.15, 0.22)

Texts: TypeAlias = Sequence[Sequence[str]]


def draw_heatmap(
    axes: Axes,
    values: NDArray[np.float64],
    texts: Texts,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    limit: float | None = None,
    notes: Texts | None = None,
    bold: NDArray[np.bool_] | None = None,
    fontsize: float = 8,
) -> AxesImage:
    """Draw values as colours, from 0 up in blue, or from -``limit`` to ``limit`` in red and blue.

    ``notes`` are written below the texts, smaller. Where ``bold`` is False, texts are grey.
    """
    is_diverging = limit is not None
    picture = axes.imshow(
        values,
        cmap="RdBu" if is_diverging else "Blues",
        vmin=-limit if limit is not None else 0,
        vmax=limit,
        aspect="auto",
    )
    top = limit * DARK_DIVERGING if limit is not None else values.max() * DARK_SEQUENTIAL
    for (row, column), value in np.ndenumerate(values):
        is_bold = bold is not None and bool(bold[row, column])
        colour = "black" if bold is None or is_bold else "#444444"
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
                fontweight="bold" if is_bold else "normal",
                color="white" if abs(value) > top else colour,
            )
    axes.set_xticks(range(len(columns)), [name.replace("_", " ") for name in columns])
    axes.set_yticks(range(len(rows)), rows)
    return picture
