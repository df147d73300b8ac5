"""Heat maps with a text in each cell."""

import numpy as np
from matplotlib.figure import Figure

from cadda.drawing.heatmap import draw_heatmap


def draw(values, **options):
    axes = Figure().add_subplot()
    texts = [[f"{value:g}" for value in row] for row in values]
    picture = draw_heatmap(
        axes, np.array(values), texts, rows=["a"], columns=["x", "z"], **options
    )
    return axes, picture


def test_texts_stand_in_their_cells_and_are_legible():
    axes, picture = draw([[0.2, 1.0]])
    assert [(text.get_text(), *text.get_position()) for text in axes.texts] == [
        ("0.2", 0, 0),
        ("1", 1, 0),
    ]
    assert [text.get_color() for text in axes.texts] == ["black", "white"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "z"]
    assert picture.get_clim() == (0, 1)


def test_notes_are_smaller_and_below():
    axes, _ = draw([[0.2, 1.0]], notes=[["5 Hz", ""]], fontsize=9)
    text, note = axes.texts[:2]
    assert note.get_text() == "5 Hz"
    assert note.get_position()[1] > text.get_position()[1]
    assert note.get_fontsize() < text.get_fontsize()
