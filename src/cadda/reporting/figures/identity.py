"""Figure of descents of p and µ towards the identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cadda.reporting.figures.panels import panel_grid

__all__ = ["DescentCurve", "plot_descents"]

SHADES = {"relaxation": "Blues", "straight-through": "Oranges"}
"""Colour map of each gradient; the higher the learning rate, the darker."""
LIGHTEST, DARKEST = 0.25, 0.95


@dataclass(frozen=True)
class DescentCurve:
    """Values of a fitted parameter over steps, with the gradient and learning rate."""

    steps: Sequence[int]
    values: Sequence[float]
    gradient: str
    lr: float


def plot_descents(panels: Mapping[str, Sequence[DescentCurve]]) -> Figure:
    """Draw descents, a panel per operation."""
    figure, every = panel_grid(list(panels), "step")
    lrs = sorted({curve.lr for curves in panels.values() for curve in curves})
    shade = dict(zip(lrs, np.linspace(LIGHTEST, DARKEST, len(lrs) + 1)[1:], strict=True))
    for axes, curves in zip(every, panels.values(), strict=True):
        for curve in curves:
            colour = colormaps[SHADES[curve.gradient]](shade[curve.lr])
            axes.plot(curve.steps, curve.values, color=colour, linewidth=1)
        axes.set_ylim(0, 1)
    figure.supylabel("p or µ, as the title says", fontsize=9)
    _add_legend(figure, shade)
    return figure


def _add_legend(figure: Figure, shade: Mapping[float, float]) -> None:
    """Explain colours, and shades in grey."""
    lines = [
        *(Line2D([], [], color=colormaps[name](0.8), label=kind) for kind, name in SHADES.items()),
        *(
            Line2D([], [], color=colormaps["Greys"](dark), label=f"learning rate {lr:g}")
            for lr, dark in shade.items()
        ),
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
