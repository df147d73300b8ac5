"""Sleep stages by every spelling, and windows against a count by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadda.data.io.hypnogram import STAGES, Annotation, are_stages, hypnogram_windows, stage_of
from cadda.exceptions import DataError


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("Sleep stage W", "W"),
        ("Sleep stage 1", "N1"),
        ("Sleep stage 2", "N2"),
        ("Sleep stage 3", "N3"),
        ("Sleep stage 4", "N3"),
        ("Sleep stage R", "R"),
        ("Sleep stage N3", "N3"),
        ("Sleep stage REM", "R"),
        ("sleep  stage 2 ", "N2"),
        ("Stage 4", "N3"),
        ("W", "W"),
        ("N1", "N1"),
        ("N2", "N2"),
        ("N3", "N3"),
        ("R", "R"),
        ("REM", "R"),
        ("S4", "N3"),
        ("wake", "W"),
        ("Sleep stage ?", ""),
        ("Movement time", ""),
        ("MT", ""),
        ("2", None),
        ("T1", None),
        ("Lights off", None),
        ("Sleep stage X", None),
    ],
)
def test_vocabulary(text: str, stage: str | None) -> None:
    assert stage_of(text) == stage


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["W", "N1", "N2", "N3", "REM"], True),
        (["Sleep stage W", "Sleep stage 2", "Sleep stage ?"], True),
        (["W", "R"], False),
        (["1", "2"], False),
        (["L", "R"], False),
        (["left", "N2"], False),
    ],
)
def test_which_names_are_stages(names: list[str], expected: bool) -> None:
    assert are_stages(names) is expected


def cut(
    annotations: list[tuple[float, float, str]], total: float = 1e9, wake: float = 1e9
) -> list[tuple[float, str]]:
    starts, labels = hypnogram_windows(
        [Annotation(*note) for note in annotations],
        seconds=30.0,
        total=total,
        where="night.edf",
        wake_minutes=wake,
    )
    return [(float(s), STAGES[k]) for s, k in zip(starts, labels, strict=True)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["W", "1", "2", "3", "4", "R", "?", "Movement time"]),
            st.integers(1, 4),
        ),
        min_size=1,
        max_size=20,
    ).filter(lambda runs: any(text not in ("?", "Movement time") for text, _ in runs)),
    st.integers(0, 3),
)
def test_windows_against_a_count_by_hand(runs: list[tuple[str, int]], wake: int) -> None:
    """Each run of equal stages is one annotation, as in Sleep Physionet."""
    names = {"1": "N1", "2": "N2", "3": "N3", "4": "N3", "?": "", "Movement time": ""}
    pages = [names.get(text, text) for text, count in runs for _ in range(count)]
    asleep = [i for i, page in enumerate(pages) if page not in ("W", "")]
    first, last = (asleep[0] - 2 * wake, asleep[-1] + 2 * wake) if asleep else (0, len(pages))
    expected = [(30.0 * i, page) for i, page in enumerate(pages) if page and first <= i <= last]
    annotations, onset = [], 0.0
    for text, count in runs:
        full = text if " " in text else f"Sleep stage {text}"
        annotations.append((onset, 30.0 * count, full))
        onset += 30.0 * count
    assert cut(annotations, total=onset, wake=wake) == expected


def test_a_stage_without_duration_lasts_until_the_next() -> None:
    found = cut([(0, 0, "W"), (60, 0, "N1"), (90, 0, "N2")])
    assert found == [(0, "W"), (30, "W"), (60, "N1"), (90, "N2")]


def test_scorers_round_and_start_late() -> None:
    found = cut([(3.2, 29.96, "W"), (33.2, 59.95, "N2"), (93.2, 29.0, "R")])
    assert found == [(3.2, "W"), (33.2, "N2"), (63.2, "N2")]


def test_other_annotations_are_left_alone() -> None:
    found = cut([(0, 30, "W"), (5, 2, "Arousal"), (10, 0, "Lights off"), (30, 30, "N2")])
    assert found == [(0, "W"), (30, "N2")]


def test_unscored_time_may_go_beyond_the_recording() -> None:
    night = [(0.0, 60.0, "Sleep stage 2"), (60.0, 9000.0, "Sleep stage ?")]
    assert cut(night, total=75.0) == [(0, "N2"), (30, "N2")]


def test_last_page_may_be_cut_by_the_end_of_the_recording() -> None:
    assert cut([(0, 90, "N2")], total=80.0) == [(0, "N2"), (30, "N2")]


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ([], "night.edf has no sleep stages; it has no annotations at all"),
        ([(0, 1, "T1")], r"night.edf has no sleep stages; its annotations are \['T1'\]"),
        ([(0, 30, "Sleep stage ?")], "night.edf has no sleep stages"),
        ([(0, 30, "N2"), (30, 30, "Sleep stage 7")], "the unknown stage 'Sleep stage 7' at 30 s"),
        ([(0, 30, "N2"), (30, 30, "N22")], "the unknown stage 'N22' at 30 s"),
        ([(0, 20, "N2"), (20, 20, "W")], "no stage that lasts a window of 30 s, .* has 20 s"),
        (
            [(0, 900, "N2")],
            "does not fit its recording: it has .* from 0 to 900 s, .* lasts 600 s",
        ),
        ([(-90, 120, "N2")], "does not fit its recording"),
        ([(0, 90, "N2"), (60, 30, "W")], "two stages at 60 s: N2 lasts until 90 s, but W"),
    ],
)
def test_refuses(annotations: list[tuple[float, float, str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        cut(annotations, total=600.0)


def test_labels_are_integers() -> None:
    _, labels = hypnogram_windows(
        [Annotation(0, 30, "R")], seconds=30.0, total=30.0, where="night.edf"
    )
    assert labels.dtype == np.int64
