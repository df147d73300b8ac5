"""A race in the report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from races import candidate_row, made_up_race

from cadda.reporting.html.race_view import view_race
from cadda.reporting.race import RaceFacts


def test_lines_say_what_the_record_says() -> None:
    facts = made_up_race()
    view = view_race(facts)
    row, line = facts.candidates[1], view.survivors[1]
    assert (line.name, line.policy, line.n_blocks) == (row.name, row.policy, 8)
    assert line.gain == "+0.200"
    assert line.error == f"± {row.error:.3f}"
    assert (line.accuracy.value, line.accuracy.low) == (row.accuracy_gain, row.accuracy_low)
    assert line.status == "chosen"
    assert view_race(made_up_race(is_gain=False)).survivors[1].status == "measured again"
    assert [each.reason for each in view.dropped] == [each.reason for each in facts.dropped]
    assert len(view.survivors) + len(view.dropped) == len(facts.candidates)
    assert view.effort == "200 training runs in 6 min 40 s, 30 per minute."


def test_bars_have_one_axis() -> None:
    facts = made_up_race()
    view = view_race(facts)
    gains = {row.name: row.accuracy_gain for row in facts.candidates}
    places = {
        line.name: line.place.value
        for line in (*view.survivors, *view.dropped)
        if line.place is not None
    }
    scale = (places["guided, 2 in a row"] - view.zero) / gains["guided, 2 in a row"]
    for name, place in places.items():
        assert place == pytest.approx(view.zero + scale * gains[name])
    assert view.decision is not None
    assert view.decision.place is not None
    assert view.decision.place.high == pytest.approx(view.zero + scale * 0.103)
    # Too far below the others to be drawn.
    assert set(gains) - set(places) == {"one of all operations", "frequency_shift m=0..1"}


def test_chart_has_a_line_per_candidate_and_names_the_best() -> None:
    facts = made_up_race()
    chart = view_race(facts).chart
    assert len(chart.lines) == len(facts.candidates)
    labels = [line.label for line in chart.lines if line.label]
    assert labels == ["no augmentation", *(r.name for r in facts.survivors if r.name != "none")]
    assert "guided, 2 in a row +0.210" in chart.alt
    assert "11 candidates dropped" in chart.alt


def test_candidates_without_gains() -> None:
    failed = candidate_row("a", "sign_flip p=1", 0.0, n_blocks=0, status="dropped", reason="nan")
    single = candidate_row("b", "sign_flip p=1", 0.1, n_blocks=1)
    view = view_race(RaceFacts((single, failed), "b", None, 3, 0.0))
    assert view.decision is None
    (line,) = view.dropped
    assert (line.gain, line.error, line.place) == ("", "", None)
    assert not line.accuracy.is_known
    assert view.survivors[0].error == ""
    assert "op-1 dot" in [each.style for each in view.chart.lines]


def test_without_a_decision() -> None:
    facts = replace(made_up_race(), verdict=None)
    assert view_race(facts).sentence.startswith("The race ended before the gain of")
