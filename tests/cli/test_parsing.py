"""Texts of options as values."""

from __future__ import annotations

import pytest

from cadda.cli.parsing import parse_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, None),
        ("W", ["W"]),
        ("W, N2,R ", ["W", "N2", "R"]),
        ('"left, hand", right', ["left, hand", "right"]),
        ('rest,"a,b,c"', ["rest", "a,b,c"]),
        ("Stimulus/S  1,Stimulus/S  2", ["Stimulus/S  1", "Stimulus/S  2"]),
        ('5" tone,rest', ['5" tone', "rest"]),
        ("", [""]),
        ("a\nb,c", ["a\nb", "c"]),
    ],
)
def test_names(text: str | None, names: list[str] | None) -> None:
    """A comma within double quotes does not separate."""
    assert parse_names(text) == names
