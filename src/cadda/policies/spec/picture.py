"""A picture of a policy: how often it changes windows by each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cadda.drawing.figure import Figure
from cadda.drawing.heatmap import draw_heatmap, tilt_labels
from cadda.policies.spec.summary import operation_title, row_label, summarise

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["plot_policy"]


def plot_policy(policy: PolicySpec) -> Figure:
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
        columns=[operation_title(name) for name in table.operations],
        notes=[[table.amount(i, k) for k in range(n_columns)] for i in range(n_rows)],
        fontsize=9,
    )
    tilt_labels(axes)
    figure.colorbar(picture, label="probability of\nchanging a window", shrink=0.9)
    method = policy.provenance.method
    axes.set_title("Operations used" + (f" by the policy that {method} found" if method else ""))
    return figure
