"""A screening on the screen: a line for every tenth in a file, a bar in a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from cadda.screening.design import ScreeningProgress
from cadda.screening.probe import ProbeProgress
from cadda.tracking import ProbeDisplay, ScreeningDisplay, displays

# Twenty epochs of a warm-up that might have had sixty, then eighty rounds.
EVENTS = [ScreeningProgress(10 * i, 1700, 0, i, 0.04 * i) for i in range(1, 21)]
EVENTS += [ScreeningProgress(200 + 10 * i, 1000, i, 20 + i, 0.9) for i in range(1, 81)]


def shown(*, terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80, height=40)
    with ScreeningDisplay(console) as display:
        for event in EVENTS:
            display(event)
    return file.getvalue()


def test_a_line_for_every_tenth_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that goes on by a second when it is looked at: at the start, and for each line.
    seconds = iter(range(100))
    monkeypatch.setattr(displays, "perf_counter", lambda: next(seconds))
    lines = shown(terminal=False).splitlines()
    assert lines[0] == "Training until the model overfits"
    assert lines[1] == "10%: epoch 17, training accuracy 0.68, at most 9 s left"
    assert lines[2] == "Trying operations"
    assert lines[3] == "21%: epoch 21, training accuracy 0.90, at most 8 s left"
    assert [line.split(":")[0] for line in lines[4:]] == [f"{10 * i}%" for i in range(3, 11)]
    assert lines[-1].endswith("at most 0 s left")


def test_the_bar_fits_in_eighty_columns() -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(terminal=True))
    assert "…" not in text
    lines = [line for line in re.split(r"[\r\n]+", text) if "━" in line]
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(
        r"epoch 100, training accuracy 0.90 ━{10} 100% 0:00:\d\d left at most 0:00:00", lines[-1]
    )
    assert text.count("Trying operations") == 1


def test_a_resumed_probe_takes_its_pace_from_the_folds_that_were_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr(displays, "perf_counter", lambda: next(seconds))
    file = io.StringIO()
    with ProbeDisplay(Console(file=file, width=80)) as display:
        for fold in (3, 4):
            for epoch in range(1, 6):
                display(ProbeProgress(fold, 4, epoch, 5))
    lines = file.getvalue().splitlines()
    assert lines[0] == "55%: fold 3 of 4, epoch 1, about 9 s left"
    assert lines[-1] == "100%: fold 4 of 4, epoch 5, about 0 s left"
