"""Figures in notebooks."""

from __future__ import annotations

import struct

import matplotlib.pyplot as plt

from cadda.drawing.figure import Figure


def test_a_notebook_shows_it_as_a_picture_without_pyplot() -> None:
    opened = plt.get_fignums()
    figure = Figure(figsize=(3, 2), dpi=50)
    picture = figure._repr_png_()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (150, 100)
    assert plt.get_fignums() == opened
