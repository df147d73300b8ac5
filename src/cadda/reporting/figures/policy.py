"""A heat map of a policy: how often each operation is used per class."""

from __future__ import annotations

from matplotlib.figure import Figure

from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import row_label, short_magnitude, summarise
from cadda.reporting.figures.heatmap import draw_heatmap

__all__ = ["plot_operation_use"]


def plot_operation_use(policy: PolicySpec) -> Figure:
    """Draw how often each operation changes a window, per class, as a heat map."""
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
        notes=[
            list(map(short_magnitude, table.operations, row)) for row in table.magnitude.tolist()
        ],
        fontsize=9,
    )
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
    figure.colorbar(picture, label="probability of changing a window", shrink=0.9)
    method = policy.provenance.method
    axes.set_title("Operations used" + (f" by the policy that {method} found" if method else ""))
    return figure
