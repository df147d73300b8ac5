"""Events of a run are complete after any kill."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cadda import PolicyProposed, RaceRound, Windows, simulate_sleep
from cadda.api.run import run_training
from cadda.exceptions import RunError
from cadda.runs.events import READERS, EventLog, search_curves
from cadda.runs.report import write_report
from cadda.searchers.events import HISTORY_EVENTS, SearchEpoch
from cadda.training import TrainingSettings
from cadda.training.progress import EpochEnd, TrainingEnd

ROUND = RaceRound(
    n_runs=4,
    max_runs=9,
    phase="candidates",
    names=("guided", "none"),
    n_blocks=(2, 2),
    gains=(0.25, 0.0),
    errors=(None, 0.0),
    accuracy_gains=(0.125, 0.0),
    statuses=("racing", "racing"),
    reasons=("", ""),
    seconds=1.5,
)
EVENTS = [
    PolicyProposed("sign_flip p=0.5"),
    ROUND,
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
    log.rewrite(EVENTS[-1:])
    assert log.read() == EVENTS[-1:]


def test_all_events_of_a_search_can_be_read() -> None:
    assert set(HISTORY_EVENTS) <= set(READERS)


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


@pytest.mark.parametrize(
    ("kept", "n_letters", "problem"),
    [
        ([0], 20, "ends with EpochEnd"),
        ([0, 1], 0, "ends with EpochEnd"),
        ([0, 1, 2], 20, "ends with EpochEnd"),
        ([0, 2, 3], 0, "has 2 of 3 epochs"),
        ([0, 1, 1, 2, 3], 0, "has 4 of 3 epochs"),
        ([], 0, "has no events"),
    ],
)
def test_events_that_were_cut_off(
    kept: list[int], n_letters: int, problem: str, windows: Windows, tmp_path: Path
) -> None:
    """The report is refused until the same command has written them again."""
    train(windows, tmp_path)
    events, complete = tmp_path / "events.jsonl", (tmp_path / "events.jsonl").read_bytes()
    lines = complete.splitlines(keepends=True)
    assert len(lines) == 4
    events.write_bytes(b"".join(lines[i] for i in kept) + lines[len(kept) % 4][:n_letters])
    with pytest.raises(RunError, match=rf"events.jsonl is damaged .*it {problem}.*run it again"):
        write_report(tmp_path)
    train(windows, tmp_path)
    assert events.read_bytes() == complete
    write_report(tmp_path)


def search_epoch(number: int, n_operations: int) -> SearchEpoch:
    table = ((1 / number,) * n_operations,)
    return SearchEpoch(
        epoch=number,
        n_epochs=10_000,
        train_loss=1.0,
        valid_loss=1 / number,
        valid_balanced_accuracy=0.5,
        reward=0.1,
        entropy=0.9,
        applied=table,
        share=table,
        probability=table,
        magnitude=table,
        seconds=float(number),
        warnings=(),
    )


@pytest.mark.parametrize("n_steps", [1, 2, 1000, 1001, 1002, 2503])
def test_tables_of_long_searches_are_thinned(n_steps: int, tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    epochs = [search_epoch(number, 2) for number in range(1, n_steps + 1)]
    log.rewrite(epochs)
    curves = search_curves(log.read())
    assert curves is not None
    # Everything but the tables is complete.
    assert curves.number.tolist() == [*range(1, n_steps + 1)]
    assert np.allclose(curves.valid_loss, 1 / curves.number)
    stride = max(1, 2 ** math.ceil(math.log2(n_steps / 1000)))
    expected = sorted({*range(0, n_steps, stride), n_steps - 1})
    assert curves.shown.tolist() == expected
    assert np.allclose(curves.applied[:, 0, 0], 1 / curves.number[expected])
    whole = search_curves(epochs)
    assert whole is not None
    assert len(whole.shown) == n_steps


def test_long_searches_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    EventLog(path).rewrite(search_epoch(number, 100) for number in range(1, 4001))
    tracemalloc.start()
    try:
        EventLog(path).read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 15e6
    # A table of a thousand steps takes 13 MB.
    assert peak < 20e6
