"""Events outside their recording, or without an onset, are told with all other losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_files import write_gdf
from losses import Losses

from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]

SECONDS = 30
ONSETS = [0.2, 3.0, 8.0, 14.0, 20.0, 27.0, 28.5]


def make_raw() -> mne.io.RawArray:
    rng = np.random.default_rng(0)
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    info["line_freq"] = 50
    raw = mne.io.RawArray(2e-5 * rng.standard_normal((2, 100 * SECONDS)), info, verbose="error")
    return raw.set_annotations(mne.Annotations(ONSETS, 1.0, ["a", "b"] * 3 + ["a"]))


def n_inside(length: float, before: float = 0.0, after: float = 0.0) -> int:
    return sum(before <= onset and onset + after + length <= SECONDS for onset in ONSETS)


def test_windows_that_end_after_the_recording(losses: Losses) -> None:
    assert len(read_windows(make_raw(), window_seconds=3)) == n_inside(3) == 6
    assert losses.messages == [
        "RawArray: 1 of 7 windows begin before their recording or end after it and are dropped: "
        "raw-1 (1 of 7)."
    ]


def test_recordings_are_named_with_their_counts(losses: Losses) -> None:
    n_good = n_inside(3, after=0.5)
    windows = read_windows([make_raw(), make_raw()], window_seconds=3, offset=0.5)
    assert len(windows) == 2 * n_good == 10
    assert "4 of 14 windows begin before" in losses.text
    assert "raw-1 (2 of 7), raw-2 (2 of 7)." in losses.text


def test_baselines_that_were_not_recorded(losses: Losses) -> None:
    windows = read_windows(make_raw(), window_seconds=1, baseline_seconds=(-0.5, 0.0))
    assert len(windows) == n_inside(1, before=0.5) == 6
    assert "1 of 7 windows, with their baseline, begin before" in losses.text


def test_nothing_is_said_of_windows_inside(losses: Losses) -> None:
    assert len(read_windows(make_raw())) == len(ONSETS)
    rows = {"class_from": "file", "class_map": {"raw-1": "x", "raw-2": "y"}}
    read_windows([make_raw(), make_raw()], **rows, window_seconds=4)
    assert not losses.messages


def test_annotations_of_a_file(tmp_path: Path, write_edf: WriteEdf, losses: Losses) -> None:
    """MNE drops those that begin after the end when it opens the file."""
    rng = np.random.default_rng(0)
    for name, late in (("s1", [30.5, 40.0, 500.0]), ("s2", [])):
        signals = {label: 20 * rng.standard_normal(3000) for label in ("C3", "C4")}
        notes = [(onset, 2.0, "ab"[i % 2]) for i, onset in enumerate([2.0, 9.0, 20.0, *late])]
        path = write_edf(tmp_path / f"{name}.edf", signals, annotations=notes)
        with warnings.catch_warnings(action="ignore"):
            raw = mne.io.read_raw_edf(path, verbose="error")
        assert len(raw.annotations) == 3
    assert len(read_windows(tmp_path)) == 6
    assert losses.messages == [
        f"{tmp_path}: 3 annotations or events are outside their recordings and are not used: "
        "s1 (3); check that they belong to them, with onsets in seconds."
    ]


def test_events_of_another_format(tmp_path: Path, losses: Losses) -> None:
    signals = 20 * np.random.default_rng(0).standard_normal((2, 3000))
    events = [(100 * second, "12"[i % 2]) for i, second in enumerate([2, 9, 20, 33, 40])]
    write_gdf(tmp_path / "s1.gdf", signals, ["C3", "C4"], 100, events)
    assert len(read_windows(tmp_path / "s1.gdf", window_seconds=2)) == 3
    assert "2 annotations or events are outside their recordings and are not" in losses.text


def test_every_annotation_is_outside(tmp_path: Path, write_edf: WriteEdf) -> None:
    signals = {label: np.random.default_rng(0).standard_normal(3000) for label in ("C3", "C4")}
    notes = [(1000.0 * onset, 2.0, "ab"[onset % 2]) for onset in range(1, 5)]
    write_edf(tmp_path / "s1.edf", signals, annotations=notes)
    with pytest.raises(DataError, match=r"no annotation .*; 4 are outside their recordings, so"):
        read_windows(tmp_path)


def test_nights_end_with_a_part_of_a_window(
    tmp_path: Path, write_night: Callable[..., Path], losses: Losses
) -> None:
    """A hypnogram may last until the end of its last window, as scorers round."""
    write_night(tmp_path, seconds=30 * 12 - 10)
    assert len(read_windows(tmp_path)) == 11
    assert not losses.messages


def write_bids(root: Path, rows: list[tuple[Any, ...]]) -> None:
    mne_bids = pytest.importorskip("mne_bids")
    pytest.importorskip("pybv")
    place = mne_bids.BIDSPath(subject="01", task="x", datatype="eeg", root=root)
    with warnings.catch_warnings(action="ignore"):
        arguments = {"format": "BrainVision", "allow_preload": True, "verbose": "error"}
        mne_bids.write_raw_bids(make_raw(), place, **arguments)
    (table,) = root.rglob("*_events.tsv")
    lines = [("onset", "duration", "trial_type"), *rows]
    table.write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")


def test_events_of_bids(tmp_path: Path, losses: Losses) -> None:
    """Those without an onset, and those of a longer recording."""
    rows = [(onset, 2.0, "ab"[i % 2]) for i, onset in enumerate([1, 6, 11, 16, 21, 26, 31, 36])]
    rows.append((float(SECONDS), 2.0, "a"))  # at the very end, which MNE keeps
    write_bids(tmp_path, [*rows, ("n/a", 2.0, "a"), (12.0, 2.0, "n/a"), (99.0, 2.0, "n/a")])
    assert len(read_windows(tmp_path, window_seconds=2)) == 6
    assert losses.messages == [
        f"{tmp_path}: 1 of 7 windows begin before their recording or end after it and are "
        "dropped: sub-01_task-x (1 of 7).",
        f"{tmp_path}: 2 annotations or events are outside their recordings and are not used: "
        "sub-01_task-x (2); check that they belong to them, with onsets in seconds.",
        f"{tmp_path}: 1 events have no onset (n/a) and are not used: sub-01_task-x (1).",
    ]
