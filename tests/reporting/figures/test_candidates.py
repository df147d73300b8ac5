"""The picture of a race."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from races import candidate_row, made_up_race

from cadda.drawing.panels import COLOURS
from cadda.reporting.figures.candidates import plot_race, span_of
from cadda.reporting.race import RaceFacts

CROWD = tuple(
    candidate_row(f"candidate {i} " + "with a long name " * 4, "sign_flip p=1", 0.1, seed=i)
    for i in range(20)
)


def running_means(axes: Axes) -> dict[str, list[list[float]]]:
    """Return heights of lines by colour, without that of no gain."""
    found: dict[str, list[list[float]]] = {}
    for line in axes.lines[1:]:
        found.setdefault(str(line.get_color()), []).append(list(line.get_ydata()))
    return found


def test_lines_are_running_means_and_end_where_candidates_were_dropped() -> None:
    facts = made_up_race()
    found = running_means(plot_race(facts).axes[0])
    survivors = [row for row in facts.survivors if row.name != "none"]
    for row, colour in zip(survivors, COLOURS, strict=False):
        assert found[colour] == [list(row.running_gains)]
    grey = [means for colour, lines in found.items() if colour not in COLOURS for means in lines]
    assert sorted(map(len, grey)) == sorted(row.n_blocks for row in facts.dropped)


def test_intervals_are_those_of_the_record() -> None:
    facts = made_up_race()
    _, right, below = plot_race(facts).axes
    assert len(right.get_yticklabels()) == 10
    row = facts.candidates[1]
    interval, point = (line for line in right.lines if set(line.get_ydata()) == {1})
    assert list(interval.get_xdata()) == [row.accuracy_low, row.accuracy_high]
    assert list(point.get_xdata()) == [row.accuracy_gain]
    assert facts.verdict is not None
    assert list(below.lines[1].get_xdata()) == [facts.verdict.low, facts.verdict.high]
    assert list(below.lines[2].get_xdata()) == [facts.verdict.gain]
    assert "9 blocks" in below.get_title(loc="left")


@pytest.mark.parametrize("facts", [made_up_race(), RaceFacts(CROWD, "none", None, 99, 9.0)])
def test_no_label_overlaps_another_or_is_cut_off(facts: RaceFacts) -> None:
    figure = plot_race(facts)
    FigureCanvasAgg(figure).draw()
    left, *others = figure.axes
    names = [text for axes in others for text in axes.get_yticklabels()]
    # Of the texts alone, without the lines that lead to them.
    boxes = [Text.get_window_extent(text) for text in (*left.texts, *names)]
    assert len(boxes) > 15
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    width, height = figure.get_size_inches()
    whole = figure.get_tightbbox()
    assert whole.x0 >= 0
    assert whole.y0 >= 0
    assert whole.x1 <= width
    assert whole.y1 <= height


def test_candidates_far_below_are_counted() -> None:
    texts = [text.get_text() for text in plot_race(made_up_race()).axes[0].texts]
    assert "2 below" in texts


def test_span() -> None:
    assert span_of([0.1, 0.2], [-5.0]) == pytest.approx((-0.1 - 0.016, 0.2 + 0.016))
    assert span_of([0.1, 0.2], [0.05]) == pytest.approx((-0.016, 0.2 + 0.016))
    low, high = span_of([], [-0.5])
    assert low < -0.5
    assert high > 0
    assert np.diff(span_of([], [])) > 0


def test_unfinished_races() -> None:
    first = RaceFacts((candidate_row("a $x$", "sign_flip p=1", 0.1, n_blocks=1),), "a", None, 1, 1)
    figure = plot_race(first)
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == 2
    nothing = replace(first, candidates=(candidate_row("none", "none", 0.0),))
    assert not plot_race(nothing).axes
