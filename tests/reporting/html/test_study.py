"""Tables on the page of a study."""

from __future__ import annotations

import re

from cadda.reporting.html import StudyPage, TextTable, render_study


def test_cells_are_shown_as_they_are() -> None:
    table = TextTable("Results", ["method", "gain"], [["a", "0.500"], ["b", "<1"]])
    page = render_study(StudyPage("compare", "", "", (table,), b"", ""))
    assert re.findall("<td>(.*?)</td>", page) == ["0.500", "&lt;1"]


def test_a_table_without_rows() -> None:
    page = render_study(StudyPage("compare", "", "", (TextTable("T", ["a"], []),), b"", ""))
    assert '<th scope="col">a</th>' in page
