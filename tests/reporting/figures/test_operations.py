"""Pictures of operations: every operation has a panel, and the legend lies on none."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import cadda
from cadda.reporting.figures.signals import plot_operations


@pytest.mark.parametrize("n_operations", [3, 4])
def test_the_legend_of_a_contact_sheet_covers_no_panel(n_operations):
    windows = cadda.simulate_sleep(n_subjects=1, n_windows=10, seed=0)
    pool = cadda.operation_pool(windows)
    pool = pool.select(pool.names[:n_operations])
    figure = plot_operations(pool, windows.x[0])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = [axes for panel in figure.subfigs for axes in panel.axes]
    assert len(drawn) == 2 * n_operations
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_tightbbox()) for axes in drawn)
