"""The display of a probe: a line for every tenth in a file, a bar in a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

import pytest
from rich.console import Console

from cadda.probing.probe import ProbeProgress
from cadda.tracking import ProbeDisplay, displays


def shown(folds: Iterable[int], *, terminal: bool = False) -> str:
    """Show five epochs of some of four folds."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80, height=40)
    with ProbeDisplay(console) as display:
        for fold in folds:
            for epoch in range(1, 6):
                display(ProbeProgress(fold, 4, epoch, 5))
    return file.getvalue()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass whenever the clock is read: at the start, and for each line."""
    seconds = iter(range(100))
    monkeypatch.setattr(displays, "perf_counter", lambda: next(seconds))


def test_a_line_for_every_tenth_with_the_time_left() -> None:
    lines = shown(range(1, 5)).splitlines()
    assert lines[0] == "10%: fold 1 of 4, epoch 2, about 9 s left"
    assert lines[1] == "20%: fold 1 of 4, epoch 4, about 8 s left"
    assert [line.split(":")[0] for line in lines] == [f"{10 * i}%" for i in range(1, 11)]


def test_a_resumed_probe_takes_its_pace_from_the_folds_that_were_run() -> None:
    lines = shown((3, 4)).splitlines()
    assert lines[0] == "55%: fold 3 of 4, epoch 1, about 9 s left"
    assert lines[-1] == "100%: fold 4 of 4, epoch 5, about 0 s left"


def test_the_bar_fits_in_eighty_columns() -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(range(1, 5), terminal=True))
    assert "…" not in text
    lines = [line for line in re.split(r"[\r\n]+", text) if "━" in line]
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"fold 4 of 4, epoch 5 ━{10} 100% 0:00:\d\d left about 0:00:00", lines[-1])
