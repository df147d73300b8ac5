"""Charts as data: paths lead where the numbers are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cadda.reporting.charts import HEIGHT, WIDTH, Series, axis, draw_line, line_chart
from cadda.reporting.html.pictures import hypnogram_of, why_no_hypnogram
from cadda.reporting.records import DataFacts, Predictions, SplitSettings


def corners(path: str) -> list[list[tuple[int, int]]]:
    """Follow a path and give the places it comes to, piece by piece."""
    pieces = []
    for first, steps in re.findall(r"M(-?\d+ -?\d+)(?:l([-\d ]+)|h0)", path):
        here = np.array(list(map(int, first.split())))
        moves = np.array(list(map(int, steps.split())), dtype=int).reshape(-1, 2)
        places = np.vstack([here, here + moves.cumsum(0)]) if len(moves) else here[None]
        pieces.append([tuple(place) for place in places.tolist()])
    return pieces


def test_a_line_goes_where_the_numbers_are() -> None:
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 10, 50)), rng.uniform(-3, 3, 50)
    (piece,) = corners(draw_line(x, y, (0, 10), (-3, 3)))
    found = np.array(piece)
    np.testing.assert_allclose(found[:, 0], WIDTH * x / 10, atol=0.5)
    np.testing.assert_allclose(found[:, 1], HEIGHT * (3 - y) / 6, atol=0.5)


def test_gaps_and_dots() -> None:
    y = np.array([np.nan, 1.0, 2.0, np.nan, 3.0, np.nan])
    pieces = corners(draw_line(np.arange(6.0), y, (0, 5), (0, 4)))
    assert [len(piece) for piece in pieces] == [2, 1]
    assert pieces[1] == [(round(WIDTH * 4 / 5), HEIGHT // 4)]
    chart = line_chart(
        [Series([1, 2, 3], [1, 2, 3], "dot", dots=True)], title="", alt="", x_label=""
    )
    assert [len(piece) for piece in corners(chart.lines[0].path)] == [1, 1, 1]


def test_long_lines_are_thinned_out_but_keep_their_ends() -> None:
    x = np.linspace(0, 1, 10_001)
    (piece,) = corners(draw_line(x, x, (0, 1), (0, 1)))
    assert len(piece) < 1000
    assert piece[0] == (0, HEIGHT)
    assert piece[-1] == (WIDTH, 0)


@pytest.mark.parametrize("span", [(0.0, 1.0), (-60.0, 3.0), (1.0, 6.0), (0.0134, 0.0157)])
def test_ticks_are_where_they_say(span: tuple[float, float]) -> None:
    ticks = axis(span)
    assert 2 <= len(ticks) <= 8
    for tick in ticks:
        value = float(tick.text.replace("−", "-"))
        assert tick.at == pytest.approx(100 * (value - span[0]) / (span[1] - span[0]), abs=0.01)
        assert 0 <= tick.at <= 100


def test_values_that_are_all_the_same() -> None:
    chart = line_chart([Series([1], [2.0], "main")], title="", alt="", x_label="")
    assert corners(chart.lines[0].path)[0] == [(WIDTH // 2, HEIGHT // 2)]


def facts(class_names: tuple[str, ...]) -> DataFacts:
    return DataFacts(100.0, 3000, ("C3",), class_names, {}, SplitSettings(0.2, 0.2, 0), {})


def night(n_windows: int) -> Predictions:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 5, (2, n_windows + 7))
    return Predictions(
        subject=np.array(["short"] * 7 + ["long"] * n_windows),
        recording=np.array(["short"] * 7 + ["night 2"] * n_windows),
        position=np.array([*range(7), *reversed(range(n_windows))]),
        truth=truth,
        predicted=predicted,
    )


def test_hypnogram_has_each_stage_at_its_time() -> None:
    names = ("W", "N1", "N2", "N3", "R")
    predictions = night(900)
    chart = hypnogram_of(predictions, facts(names))
    assert chart is not None
    assert "long, recording night 2" in chart.title
    assert chart.x_label.startswith("time (h)")
    height_of = {tick.text: HEIGHT * (1 - tick.at / 100) for tick in chart.y_ticks}
    assert list(height_of) == ["W", "R", "N1", "N2", "N3"]
    for line, labels in zip(chart.lines, (predictions.truth, predictions.predicted), strict=True):
        (piece,) = corners(line.path)
        across, up = np.array(piece).T
        # In the middle of each window, the stair is at the height of its stage.
        order = np.argsort(predictions.position[7:])
        middle = WIDTH * (np.arange(900) + 0.5) / 900
        step = np.searchsorted(across, middle) - 1
        expected = [height_of[names[i]] for i in labels[7:][order]]
        np.testing.assert_allclose(up[step], expected, atol=1)
    agreement = np.mean(predictions.truth[7:] == predictions.predicted[7:])
    assert f"agrees with the expert in {agreement:.0%}" in chart.alt


def test_no_hypnogram_of_other_classes_or_of_a_few_windows() -> None:
    stages = ("W", "N1", "N2", "N3", "R")
    assert hypnogram_of(night(50), facts(stages)) is not None
    assert hypnogram_of(night(50), facts(("left", *stages[1:]))) is None
    assert hypnogram_of(night(8), facts(stages)) is None
    assert why_no_hypnogram(night(50), facts(stages)) is None
    assert why_no_hypnogram(night(8), facts(("left", *stages[1:]))) is None
    assert "the longest test recording has 8 windows" in str(
        why_no_hypnogram(night(8), facts(stages))
    )
