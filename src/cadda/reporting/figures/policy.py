"""Pictures of a policy: how often each operation is used per class, and how that came about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.describe import row_label
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.tables import summarise
from cadda.reporting.figures.heatmap import draw_heatmap
from cadda.searchers.events import Retrained, SearchEpoch, TrialEnd

__all__ = ["plot_evolution", "plot_operation_use"]

PANELS = (
    ("applied", "probability that it changes a window"),
    ("probability", "probability p once chosen"),
    ("magnitude", "magnitude µ"),
)


def plot_operation_use(policy: PolicySpec) -> Figure:
    """Draw how often each operation changes a window, per class, as a heat map.

    Parameters
    ----------
    policy : PolicySpec
        The policy.

    Returns
    -------
    matplotlib.figure.Figure
        Rows are classes, columns operations; below each probability stands the magnitude.
    """
    table = summarise(policy)
    n_rows, n_columns = table.applied.shape
    figure = Figure(figsize=(2.8 + 0.75 * n_columns, 2.6 + 0.55 * n_rows), layout="constrained")
    axes = figure.add_subplot()
    picture = draw_heatmap(
        axes,
        table.applied,
        [[f"{value:.0%}" for value in row] for row in table.applied],
        rows=[row_label(name) for name in table.rows],
        columns=table.operations,
        notes=[list(map(_amount, table.operations, row)) for row in table.magnitude.tolist()],
        fontsize=9,
    )
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
    figure.colorbar(picture, label="probability of changing a window", shrink=0.9)
    method = policy.provenance.method
    axes.set_title("Operations used" + (f" by the policy that {method} found" if method else ""))
    return figure


def plot_evolution(
    history: Sequence[SearchEpoch | TrialEnd | Retrained], policy: PolicySpec
) -> Figure:
    """Draw how a policy changed during the search.

    Parameters
    ----------
    history : sequence of SearchEpoch, TrialEnd and Retrained
        What happened.
    policy : PolicySpec
        The policy found, which gives names to rows and columns.

    Returns
    -------
    matplotlib.figure.Figure
        A row of panels per class: use, p and µ of each operation over the epochs, or those of the
        best policy so far over the trials.
    """
    epochs = [event for event in history if not isinstance(event, Retrained)]
    rows, names = policy.rows, policy.operation_names
    figure = Figure(figsize=(11, 1.3 + 2.2 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(PANELS), sharex=True, squeeze=False)
    number = [one.number if isinstance(one, TrialEnd) else one.epoch for one in epochs]
    by_trials = bool(epochs) and isinstance(epochs[0], TrialEnd)
    lines: list[Line2D] = []
    for column, (field, title) in enumerate(PANELS):
        values = np.array([getattr(event, field) for event in epochs], dtype=float)
        for row, name in enumerate(rows):
            axes = panels[row, column]
            lines = _draw_lines(axes, number, values[:, row] if len(values) else values)
            if row == 0:
                axes.set_title(title, fontsize=10)
            if column == 0:
                axes.set_ylabel(row_label(name))
    for axes in panels[-1]:
        axes.set_xlabel("trial, best policy so far" if by_trials else "epoch of the search")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(
        lines, _labels(names), loc="outside lower center", ncols=7, fontsize=8, frameon=False
    )
    return figure


def _draw_lines(axes: Axes, number: list[int], values: NDArray[np.float64]) -> list[Line2D]:
    """Draw a line per operation in colours that stay distinct."""
    axes.set_ylim(0, 1 if not values.size else max(0.25, 1.1 * np.nanmax(values, initial=0.0)))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    styles = ("-", "--")
    return [
        axes.plot(number, line, color=f"C{i % 10}", linestyle=styles[i // 10 % 2], linewidth=1.4)[
            0
        ]
        for i, line in enumerate(values.T)
    ]


def _amount(operation: str, magnitude: float) -> str:
    """Describe a magnitude in its unit, if the operation has one."""
    entry = CATALOGUE.get(operation)
    if entry is None or not entry.has_magnitude or not np.isfinite(magnitude):
        return ""
    return entry.amount(magnitude)


def _labels(operations: Sequence[str]) -> list[str]:
    return [name.replace("_", " ") for name in operations]
