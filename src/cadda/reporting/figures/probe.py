"""A picture of a probe: what windows of each class are taken for after each operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from cadda.drawing.figure import Figure
from cadda.drawing.heatmap import draw_heatmap
from cadda.reporting.probe_records import MARKS, ProbeMatrix, ProbeRow, ProbeVerdict

__all__ = ["plot_probe"]

CELL = 0.42
"""Inches of a cell of a matrix."""
MAX_COLUMNS = 5


def plot_probe(
    class_names: Sequence[str], matrices: Sequence[ProbeMatrix], table: Sequence[ProbeRow]
) -> Figure:
    """Draw the matrices of a probe as heat maps, one row of panels per operation.

    Parameters
    ----------
    class_names : sequence of str
        Names of the classes.
    matrices : sequence of ProbeMatrix
        Shares of predictions; windows as they are first.
    table : sequence of ProbeRow
        Verdicts.

    Returns
    -------
    matplotlib.figure.Figure
        Rows of a panel are the true classes, with their verdicts, columns the predicted ones.
    """
    plain, *others = matrices
    by_operation: dict[str | None, list[ProbeMatrix]] = {}
    for matrix in others:
        by_operation.setdefault(matrix.operation, []).append(matrix)
    single = [group[0] for group in by_operation.values() if len(group) == 1]
    graded = [group for group in by_operation.values() if len(group) > 1]
    first = [plain, *single]
    n_columns = max(map(len, graded), default=min(MAX_COLUMNS, len(first)))
    rows = [first[i : i + n_columns] for i in range(0, len(first), n_columns)] + graded
    size = CELL * len(class_names) + 0.35
    figure = Figure(
        figsize=(1.2 + (size + 0.5) * n_columns, 0.9 + (size + 0.45) * len(rows)),
        layout="constrained",
    )
    grid = figure.subplots(len(rows), n_columns, squeeze=False)
    verdicts = {(row.operation, row.magnitude, row.class_name): row.verdict for row in table}
    for panels, row in zip(grid, rows, strict=True):
        for axes in panels[len(row) :]:
            axes.set_axis_off()
        for axes, matrix in zip(panels, row, strict=False):
            _draw_matrix(axes, matrix, class_names, verdicts)
    figure.supxlabel("predicted class", fontsize=8)
    figure.supylabel("true class: ✓ kept, → becomes another, ✗ destroyed, ? undecided", fontsize=8)
    return figure


def _draw_matrix(
    axes: Axes,
    matrix: ProbeMatrix,
    class_names: Sequence[str],
    verdicts: Mapping[tuple[str, float | None, str], ProbeVerdict],
) -> None:
    share = np.array(matrix.share)
    operation, magnitude = matrix.operation, matrix.magnitude
    marks = [
        "" if operation is None else MARKS[verdicts[operation, magnitude, name]]
        for name in class_names
    ]
    draw_heatmap(
        axes,
        share,
        [[f"{value:.2f}" for value in row] for row in share],
        rows=[f"{name.replace('_', ' ')} {m}" for name, m in zip(class_names, marks, strict=True)],
        columns=[name.replace("_", " ") for name in class_names],
        vmax=1.0,
        fontsize=7,
    )
    words = "no operation" if operation is None else operation.replace("_", " ")
    axes.set_title(words if magnitude is None else f"{words} {magnitude:g}", fontsize=8)
    axes.tick_params(length=0, labelsize=6)
    axes.spines[:].set_visible(False)
