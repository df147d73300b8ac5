"""Findings of a probe as sentences."""

from __future__ import annotations

import pytest

from cadda import ProbeRow
from cadda.probing.probe_text import describe_operation


@pytest.mark.parametrize("other", ["{b}", "{}", "b{", "{0.__class__}", "%s"])
def test_names_of_classes_are_taken_as_they_are(other: str) -> None:
    row = ProbeRow("sign_flip", None, "a", 0.9, 0.1, 0.0, 0.2, other, 0.8, 0.7, 0.9, "becomes")
    assert describe_operation("sign_flip", [row]) == f"sign_flip turns every class into {other}."
