"""The figure of a comparison."""

from __future__ import annotations

from itertools import pairwise

from cadda._internal.statistics import Estimate
from cadda.reporting.figures.comparison import ComparedGain, plot_comparison


def test_labels_of_the_narrow_panel_do_not_overlap() -> None:
    gain = Estimate(0.01, -0.03, 0.05)
    accuracies = {"none": 0.836, "zoo:left-right": 0.847, "zoo:gentle": 0.844}
    rows = [
        ComparedGain(name, Estimate(value, value - 0.02, value + 0.02), gain, (0.0, 0.02))
        for name, value in accuracies.items()
    ]
    figure = plot_comparison(rows, plain="none")
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_xlim()
    shown = [
        label.get_window_extent()
        for label in figure.axes[0].get_xticklabels()
        if low <= label.get_position()[0] <= high
    ]
    assert len(shown) > 1
    assert all(left.x1 + 0.5 * left.width < right.x0 for left, right in pairwise(shown))
