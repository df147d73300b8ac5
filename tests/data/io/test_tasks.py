"""The task that names of classes tell, and the high-pass that it recommends."""

from __future__ import annotations

import re

import pytest
import torch

import cadda
from cadda.data.io.options import ReadOptions
from cadda.data.io.read_result import read_with_quality
from cadda.data.io.tasks import Task, guess_task, highpass_notes, slow_power_notes


@pytest.mark.parametrize(
    ("names", "task"),
    [
        (["W", "N1", "N2", "N3", "R"], "sleep stages"),
        (["Sleep stage W", "Sleep stage 2"], "sleep stages"),
        (["left_fist", "right_fist"], "movement or imagery"),
        (["left", "right"], "movement or imagery"),
        (["Left/cue", "Right/cue"], "movement or imagery"),
        (["rest", "Feet"], "movement or imagery"),
        (["both hands", "rest"], "movement or imagery"),
        (["769", "770", "771"], "movement or imagery"),
        (["left", "rest"], "other"),
        (["standard", "target"], "other"),
        (["handle", "armed"], "other"),
        (["R", "W"], "other"),
    ],
)
def test_tasks(names: list[str], task: Task) -> None:
    assert guess_task(names) == task


def test_classes_that_are_merged_stages() -> None:
    assert guess_task(["left", "right"], from_stages=True) == "sleep stages"
    epochs = cadda.simulate_sleep(n_subjects=3, n_windows=10, seed=0).to_epochs()
    merged = ReadOptions(class_map={"W": "awake", "N*": "asleep"})
    result = read_with_quality(epochs, merged)
    assert (result.task, result.notes) == ("sleep stages", ())
    by_column = read_with_quality(epochs, ReadOptions(label="subject"))
    assert by_column.task == "other"


@pytest.mark.parametrize(
    ("task", "highpass", "text"),
    [
        ("sleep stages", 0.0, None),
        ("other", 0.5, "no high-pass of 1 Hz or more: .* compare with `highpass=4`"),
        ("other", 1.0, None),
        ("movement or imagery", 1.0, "no high-pass of 4 Hz .* remove it with `highpass=4`"),
        ("movement or imagery", 4.0, None),
    ],
)
def test_notes(task: Task, highpass: float, text: str | None) -> None:
    notes = highpass_notes(task, highpass)
    assert len(notes) == (text is not None)
    for note in notes:
        assert re.search(str(text), note)


@pytest.mark.parametrize(
    ("task", "slow", "sfreq", "share"),
    [
        ("movement or imagery", 2.0, 100.0, "80%"),
        ("movement or imagery", 0.5, 100.0, None),  # 0.2 of the power
        ("other", 2.0, 100.0, None),  # 2 Hz is above 1 Hz
        ("sleep stages", 2.0, 100.0, None),
        ("movement or imagery", 2.0, None, None),
        ("movement or imagery", 2.0, 1000.0, None),  # windows of 0.4 s
    ],
)
def test_slow_power_of_arrays(
    task: Task, slow: float, sfreq: float | None, share: str | None
) -> None:
    """A sine has half of its squared amplitude as power; here 2 Hz, and 10 Hz of amplitude 1."""
    time = torch.arange(400) / 100
    x = slow * torch.sin(4 * torch.pi * time) + torch.sin(20 * torch.pi * time)
    notes = slow_power_notes(task, x.expand(6, 2, -1), sfreq)
    assert [note.partition(" ")[0] for note in notes] == [share] * (share is not None)


def test_arrays_with_slow_activity_are_noted() -> None:
    windows = cadda.simulate_motor_imagery(n_subjects=2, n_windows=8, seed=0)
    (note,) = read_with_quality(windows, ReadOptions()).notes
    assert "of the power is below 4 Hz" in note
