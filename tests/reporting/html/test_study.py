"""Tables on the page of a study."""

from __future__ import annotations

import re

import pytest

from cadda.reporting.html import StudyPage, TextTable, render_study


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["0.833", "1", "0.75", ""], ["0.833", "1.000", "0.750", ""]),
        (["0.054", "-0.0318", "0"], ["0.0540", "-0.0318", "0.0000"]),
        (["0.00417", "0.125"], ["0.0042", "0.1250"]),
        (["0.00417", "0.0008"], ["0.00417", "0.00080"]),
        (["3", "12"], ["3", "12"]),
        (["1234", "0.5"], ["1234", "0.5"]),
        (["0.5", "none"], ["0.5", "none"]),
        (["0.5", "1e-05"], ["0.5", "1e-05"]),
    ],
)
def test_decimals_of_a_column(cells: list[str], shown: list[str]) -> None:
    table = TextTable("Results", ["method", "gain"], [["a", cell] for cell in cells])
    page = render_study(StudyPage("compare", "", "", "", (table,), b"", ""))
    assert re.findall("<td>(.*?)</td>", page) == shown


def test_a_table_without_rows() -> None:
    page = render_study(StudyPage("compare", "", "", "", (TextTable("T", ["a"], []),), b"", ""))
    assert '<th scope="col">a</th>' in page
