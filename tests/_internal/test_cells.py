"""Cells of tables as text."""

from __future__ import annotations

import pytest

from cadda._internal.cells import Cell, format_cell, format_rows


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([0.833, 1, 0.75, None], ["0.833", "1.000", "0.750", ""]),
        ([0.5, 0.25, 0.0], ["0.500", "0.250", "0.000"]),
        ([0.054, -0.0318, 0.0], ["0.054", "-0.032", "0.000"]),
        ([0.0416667, 0.2083333, -0.0], ["0.042", "0.208", "0.000"]),
        ([0.00417, 0.125], ["0.0042", "0.1250"]),
        ([0.00417, 0.0008], ["0.00417", "0.00080"]),
        ([6.5, 2.93], ["6.50", "2.93"]),
        ([1.5, 0.333], ["1.500", "0.333"]),
        ([3, 12], ["3", "12"]),
        ([1234, 0.5], ["1234", "0.5"]),
        ([0.5, "none"], ["0.5", "none"]),
        ([0.5, 1e-05], ["0.5", "1e-05"]),
        ([None, None], ["", ""]),
    ],
)
def test_decimals_of_a_column(cells: list[Cell], shown: list[str]) -> None:
    assert format_rows([("a", cell) for cell in cells]) == [("a", text) for text in shown]


def test_a_table_without_rows() -> None:
    assert format_rows([]) == []


def test_a_cell_has_three_significant_digits() -> None:
    assert [format_cell(cell) for cell in (0.12345, 1234.5, 7, None)] == ["0.123", "1230", "7", ""]
