"""Findings of a probe as sentences."""

from __future__ import annotations

import pytest

from cadda import ProbeRow
from cadda.probing.probe_text import describe_no_map, describe_operation
from cadda.reporting.probe_records import ProbeVerdict


@pytest.mark.parametrize("other", ["{b}", "{}", "b{", "{0.__class__}", "%s"])
def test_names_of_classes_are_taken_as_they_are(other: str) -> None:
    row = ProbeRow("sign_flip", None, "a", 0.9, 0.1, 0.0, 0.2, other, 0.8, 0.7, 0.9, "becomes")
    assert describe_operation("sign_flip", [row]) == f"sign_flip turns every class into {other}."


NO_CYCLE = "but {} into no other class, and a label map permutes classes."
WEAK = "but the exchange is not significant, corrected for the number of operations."


def row(
    name: str,
    other: str,
    kept: float,
    verdict: ProbeVerdict,
    *,
    operation: str = "sign_flip",
    magnitude: float | None = None,
) -> ProbeRow:
    """Return what becomes of a class; all windows but `kept` are taken for `other`."""
    share = 1 - kept
    return ProbeRow(
        operation, magnitude, name, 0.9, kept, kept, kept, other, share, share, share, verdict
    )


def test_why_no_label_map_is_proposed() -> None:
    kept = [row("a", "b", 0.9, "keeps"), row("b", "a", 0.5, "undecided")]
    assert describe_no_map(kept).endswith("still taken for their own class most.")
    near = row("a", "c", 0.4, "undecided", operation="time_mask", magnitude=0.5)
    assert describe_no_map([*kept, near]).endswith(
        "The closest is time_mask at magnitude 0.5: 0.60 of a are taken for c, 0.40 for a."
    )


@pytest.mark.parametrize(
    ("targets", "end"),
    [
        ({"a": "b"}, NO_CYCLE.format("b")),
        ({"a": "b", "b": "c"}, NO_CYCLE.format("c")),
        ({"a": "b", "b": "a"}, WEAK),
        (
            {"a": "b", "b": "c", "c": "b"},
            WEAK,
        ),
    ],
)
def test_classes_that_become_others_without_a_label_map(targets: dict[str, str], end: str) -> None:
    rows = [row(old, new, 0.1 + (old != "a") / 10, "becomes") for old, new in targets.items()]
    # Another operation does not complete the exchange.
    rows.append(row("c", "a", 0.3, "becomes", operation="time_reverse"))
    said = describe_no_map(rows)
    assert said.startswith("No label map is proposed: sign_flip turns a into b, but ")
    assert said.endswith(end)


def test_the_closest_to_a_map_moves_all_classes() -> None:
    """One that turns everything into b is further from it."""
    everything = [row("a", "b", 0.2, "undecided"), row("b", "a", 0.8, "keeps")]
    exchange = [
        row(name, other, 0.4, "undecided", operation="time_reverse")
        for name, other in (("a", "b"), ("b", "a"))
    ]
    assert "The closest is time_reverse: 0.60 of a" in describe_no_map([*everything, *exchange])
    assert describe_no_map(everything).endswith("turns a class significantly into another.")


def test_classes_that_are_destroyed_at_some_magnitudes_only() -> None:
    verdicts: dict[float, ProbeVerdict] = {
        0.25: "undecided",
        0.5: "destroys",
        0.75: "destroys",
        1.0: "undecided",
    }
    rows = [row("a", "b", 0.5, verdict, magnitude=m) for m, verdict in verdicts.items()]
    assert describe_operation("ft_surrogate", rows) == (
        "ft_surrogate destroys every class at magnitude 0.5 and 0.75."
    )
