"""Windows on their way through a policy, by hand."""

from __future__ import annotations

import pytest

from cadda import PolicySpec
from cadda.policies.spec.walk import applied_at_least_once

SPEC = PolicySpec.from_text(
    "channel_symmetry p=0.5 -> {a: b, b: a} | sign_flip p=0.4 > "
    "channel_symmetry p=0.5 -> {b: c, c: b}\n"
    "w=3: sign_flip p=0.2 > sign_flip p=0.5"
)
FIRST, SECOND = "channel_symmetry (a ↔ b)", "channel_symmetry (b ↔ c)"
FLIPPED = (0.2 + 3 * (1 - 0.8 * 0.5)) / 4


@pytest.mark.parametrize(
    ("class_name", "first", "second"),
    [
        ("a", 0.25, 0.25 * 0.5),  # only a quarter are b by then
        ("b", 0.25, 0.75 * 0.5),
        ("c", 0, 0.5),
        ("d", 0, 0),
        ("*", 0.25, 0.5),
    ],
)
def test_a_label_map_waits_for_windows_of_its_classes(
    class_name: str, first: float, second: float
) -> None:
    expected = {FIRST: first / 4, "sign_flip": FLIPPED, SECOND: second / 4}
    assert applied_at_least_once(SPEC.policy["*"], class_name) == pytest.approx(expected)
