"""Events of a run are complete after any kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda import Windows, simulate_sleep
from cadda.api.run import run_training
from cadda.exceptions import RunError
from cadda.runs.events import EventLog
from cadda.runs.report import write_report
from cadda.training import TrainingSettings
from cadda.training.progress import EpochEnd, TrainingEnd

EVENTS = [
    EpochEnd(1, 2, 1.5, 1.25, float("nan"), is_best=True),
    TrainingEnd(2, 1, stopped_early=False),
]


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=5, n_windows=20)


def train(windows: Windows, folder: Path) -> None:
    settings = TrainingSettings(max_epochs=3)
    run_training(windows, folder, settings=settings, model="shallow", device="cpu")


def test_events_are_read_as_written(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    for event in EVENTS:
        log(event)
    assert repr(log.read()) == repr(EVENTS)
    log.rewrite(EVENTS[1:])
    assert log.read() == EVENTS[1:]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"event": "Breakfast"}', "line 1: unknown event 'Breakfast'"),
        ('{"event": "TrainingEnd", "epoch": 2}', "line 1, is not a valid TrainingEnd.*best_epoch"),
    ],
)
def test_invalid_event(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(f"{line}\n")
    with pytest.raises(RunError, match=message):
        EventLog(tmp_path / "events.jsonl").read()


@pytest.mark.parametrize("n_lines", [1, 2, 3])
def test_training_killed_while_writing_an_event(
    n_lines: int, windows: Windows, tmp_path: Path
) -> None:
    train(windows, tmp_path)
    events, complete = tmp_path / "events.jsonl", (tmp_path / "events.jsonl").read_bytes()
    lines = complete.splitlines(keepends=True)
    events.write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:20])
    write_report(tmp_path)
    train(windows, tmp_path)
    assert events.read_bytes() == complete
    write_report(tmp_path)
