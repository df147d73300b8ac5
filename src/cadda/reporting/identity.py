"""A picture of descents: what p and µ do while only the identity is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cadda.reporting.panels import panel_grid

__all__ = ["Path", "plot_paths"]

COLOURS = {"relaxation": "#0b63b0", "straight-through": "#c4541a"}


@dataclass(frozen=True)
class Path:
    """A descent.

    Parameters
    ----------
    steps : sequence of int
        Numbers of steps.
    values : sequence of float
        What was fitted, after each of them.
    gradient : 'relaxation' | 'straight-through'
        Which gradient was followed.
    """

    steps: Sequence[int]
    values: Sequence[float]
    gradient: str


def plot_paths(panels: Mapping[str, Sequence[Path]]) -> Figure:
    """Draw descents, a panel per operation.

    Parameters
    ----------
    panels : mapping of str to sequence of Path
        Descents by title, at least one.

    Returns
    -------
    matplotlib.figure.Figure
        One line per descent, coloured by its gradient.
    """
    figure, every = panel_grid(list(panels), "step")
    for axes, paths in zip(every, panels.values(), strict=True):
        for path in paths:
            axes.plot(path.steps, path.values, color=COLOURS[path.gradient], linewidth=1)
        axes.set_ylim(0, 1)
    lines = [Line2D([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure
