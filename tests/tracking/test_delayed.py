"""Progress in Python: after a few seconds, unless it is not wanted."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import cadda
from cadda._internal import delayed
from cadda.experiments import run_study
from cadda.tracking import TrainingDisplay, shown_progress
from cadda.training.progress import EpochEnd, TrainingEvent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Give a clock that a test sets."""
    now = [0.0]
    monkeypatch.setattr(delayed, "perf_counter", lambda: now[0])
    return iter([now])


def epoch(number: int) -> EpochEnd:
    return EpochEnd(number, 300, 1.5, 1.25, 0.5, is_best=True)


def shown(now: list[float], seconds: float, *, terminal: bool, progress: bool = True) -> str:
    """Show 40 epochs that take a number of seconds together."""
    file, events = io.StringIO(), []
    console = Console(file=file, force_terminal=terminal, width=120)
    received: list[TrainingEvent] = events
    with shown_progress(
        partial(TrainingDisplay, 30, console), received.append, progress=progress
    ) as report:
        for number in range(1, 41):
            now[0] = seconds * number / 40
            report(epoch(number))
    assert events == [epoch(number) for number in range(1, 41)]
    return file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_quick_training_shows_nothing(clock: Iterator[list[float]], terminal: bool) -> None:
    assert shown(next(clock), 2.0, terminal=terminal) == ""


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_shown_if_it_is_not_wanted(
    clock: Iterator[list[float]], terminal: bool
) -> None:
    assert shown(next(clock), 100.0, terminal=terminal, progress=False) == ""


def test_a_file_gets_a_few_lines(clock: Iterator[list[float]]) -> None:
    lines = shown(next(clock), 100.0, terminal=False).splitlines()
    assert [line.split(":")[0] for line in lines] == [f"epoch {n}" for n in (1, 11, 21, 31)]


def test_a_terminal_gets_a_bar_that_disappears(clock: Iterator[list[float]]) -> None:
    text = shown(next(clock), 100.0, terminal=True)
    assert "training" in text
    # Hidden cursor, bar, and then the line is erased and the cursor shown again.
    assert text.endswith("\x1b[?25h\r\x1b[1A\x1b[2K") or re.search(r"\x1b\[2K$", text)


def make_windows() -> cadda.Windows:
    rng = np.random.default_rng(0)
    return cadda.Windows(
        rng.normal(size=(24, 2, 100)),
        np.arange(24) % 2,
        subject=np.arange(24) // 4,
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["a", "b"],
    )


@pytest.mark.parametrize("progress", [True, False])
def test_functions_that_may_take_long(
    progress: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """All write to stderr, once the delay is over."""
    monkeypatch.setattr(delayed, "DELAY", 0.0)
    train, valid, _ = make_windows().split(valid=0.3, test=0.2)
    training = cadda.TrainingSettings(max_epochs=1)
    wanted = {} if progress else {"progress": False}
    cadda.fit(train, valid, model="shallow", max_epochs=1, **wanted)
    assert ("epoch 1: loss" in capfd.readouterr().err) == progress
    cadda.probe(train, n_folds=2, n_epochs=1, operations=["sign_flip"], **wanted)
    assert ("fold 1 of 2" in capfd.readouterr().err) == progress
    quick = {
        "model": "shallow",
        "budget": 1,
        "training": training,
        "operations": ["sign_flip", "time_reverse"],
    }
    cadda.search(train, valid, method="random", **quick, **wanted)
    captured = capfd.readouterr()
    assert ("trial 1 of 1" in captured.err) == progress
    run_study("frequency-shift", scale="quick", out=tmp_path, **wanted)
    assert (" jobs" in capfd.readouterr().err) == progress
    assert captured.out == ""
