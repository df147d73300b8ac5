"""`read_windows` finds the reader, and says in one sentence why there is none."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import mne
import numpy as np
import pytest

import cadda
from cadda._internal import delayed
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

WriteNight = Callable[..., Path]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nights does not exist"):
        read_windows(tmp_path / "nights")


def test_folder_of_the_user(
    tmp_path: Path, write_night: WriteNight, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_night(tmp_path / "nights")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(read_windows("~/nights")) == 12


@pytest.mark.parametrize("name", ["data.csv", "data"])
def test_unknown_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1, 2, 3")
    with pytest.raises(DataError, match=rf"{name} must be an MNE epochs file .* of recordings\.$"):
        read_windows(tmp_path / name)


@pytest.mark.parametrize(("name", "reader"), [("a.mat", "fieldtrip"), ("a.DATA", "nicolet")])
def test_formats_that_need_more_than_a_path(tmp_path: Path, name: str, reader: str) -> None:
    (tmp_path / name).touch()
    assert hasattr(mne.io, f"read_raw_{reader}")
    with pytest.raises(
        DataError, match=rf"{name} .* open it with mne\.io\.read_raw_{reader}, and"
    ):
        read_windows(tmp_path / name)


def test_part_of_a_brainvision_recording_without_header(tmp_path: Path) -> None:
    """Files of Nihon Kohden end in .eeg, too."""
    (tmp_path / "a.vmrk").touch()
    with pytest.raises(DataError, match=r"pass a\.vhdr, which is missing\.$"):
        read_windows(tmp_path / "a.vmrk")
    (tmp_path / "a.eeg").write_bytes(bytes(2000))
    message = r"Nihon Kohden .*; if it is a part of .*, pass its \.vhdr file, which is missing\.$"
    with pytest.raises(DataError, match=message):
        read_windows(tmp_path / "a.eeg")


@pytest.mark.parametrize("name", ["a.eeg", "a.vmrk", "a.EEG"])
def test_part_of_a_brainvision_recording(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    message = f"{name} is a part of a BrainVision recording; pass a.vhdr"
    (tmp_path / "a.vhdr").touch()
    with pytest.raises(DataError, match=rf"{message}\.$"):
        read_windows(tmp_path / name)


def test_single_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 2, 100)))
    with pytest.raises(
        DataError, match=r"x\.npy has a single array; .* \.npz file .*cadda\.Windows"
    ):
        read_windows(tmp_path / "x.npy")


def test_several_npz_files(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).touch()
    message = r"a\.npz is among several sources, and only one \.npz file can be read .*; join"
    for source in ([tmp_path / "a.npz", tmp_path / "b.npz"], tmp_path / "*.npz"):
        with pytest.raises(DataError, match=message):
            read_windows(source)


def test_single_recording(tmp_path: Path, write_night: WriteNight) -> None:
    psg = write_night(tmp_path)
    with pytest.raises(DataError, match=r"PSG.edf has no annotation .* or the folder"):
        read_windows(psg)


def test_unknown_object() -> None:
    with pytest.raises(TypeError, match=r"`source` must be a path, .* got ndarray"):
        read_windows(np.zeros((3, 2, 1)))
    raw = mne.io.RawArray(np.zeros((1, 100)), mne.create_info(["Cz"], 100.0), verbose="error")
    with pytest.raises(DataError, match="RawArray has no annotation or event"):
        read_windows(raw)
    with pytest.raises(TypeError, match=r"`source` must be .* got RawArray and ndarray"):
        read_windows([raw, np.zeros((3, 2, 1))])
    with pytest.raises(ValueError, match="`source` must have at least one element"):
        read_windows([])


def test_channels_are_a_list(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    with pytest.raises(TypeError, match="`channels` must be a list of names, got 'Fpz-Cz'"):
        read_windows(tmp_path, channels="Fpz-Cz")
    with pytest.raises(ValueError, match="`channels` must name at least one channel, got none"):
        read_windows(tmp_path, channels=[])


def test_progress(tmp_path: Path, write_night: WriteNight) -> None:
    for name in ("SC4001", "SC4002"):
        write_night(tmp_path, name)
    seen: list[tuple[int, int, str]] = []
    read_windows(tmp_path, on_progress=lambda *step: seen.append(step))
    assert seen == [(0, 2, "SC4001"), (1, 2, "SC4002"), (2, 2, "")]


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_if_reading_takes_long(
    tmp_path: Path,
    write_night: WriteNight,
    progress: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(delayed, "DELAY", 0.0)
    for name in ("SC4001", "SC4002"):
        write_night(tmp_path, name)
    seen: list[tuple[int, int, str]] = []
    wanted = {} if progress else {"progress": False}
    read_windows(tmp_path, on_progress=lambda *step: seen.append(step), **wanted)
    captured = capfd.readouterr()
    lines = [f"reading {name}, {i} of 2" for i, name in ((1, "SC4001"), (2, "SC4002"))]
    assert captured.err.splitlines() == (lines if progress else [])
    assert captured.out == ""
    assert len(seen) == 3


def test_nothing_is_printed(
    tmp_path: Path,
    write_night: WriteNight,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(delayed, "DELAY", 1e3)
    write_night(tmp_path)
    read_windows(tmp_path)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_windows_do_not_depend_on_other_subjects(tmp_path: Path, write_night: WriteNight) -> None:
    """Nothing is fitted on data that are tested on later."""
    for how in ("window", "recording"):
        folder = tmp_path / how
        write_night(folder, "SC4001")
        alone = read_windows(folder, standardise=how)
        write_night(folder, "SC4011", seed=1)
        together = read_windows(folder, standardise=how)
        np.testing.assert_array_equal(together.of_subjects(["SC400"]).x, alone.x)


def test_classes_that_are_probably_one(caplog: pytest.LogCaptureFixture) -> None:
    x = np.random.default_rng(0).normal(size=(8, 2, 50))
    named = {"x": x, "subject": list("aabbccdd"), "sfreq": 50.0}
    read_windows(named | {"y": ["left hand", "Left  hand"] * 4})
    assert "'Left  hand' and 'left hand' differ in capital letters or spaces only" in caplog.text
    caplog.clear()
    read_windows(named | {"y": ["left hand", "lefthand"] * 4})
    assert "differ" not in caplog.text


@pytest.mark.parametrize(
    ("subjects", "named"),
    [
        (["s1", "S1", "s2", "t"], "'S1' and 's1'"),
        (["01", "1", "2", "3"], "'01' and '1'"),
        (["sub-007", "sub-7", "sub-70", "sub-17"], "'sub-007' and 'sub-7'"),
        (["anna b", "annab", "c", "d"], "'anna b' and 'annab'"),
        (["1.0", "1", "a", "b"], "'1' and '1.0'"),
        (["01", "1", "02", "2"], "'01' and '1', '02' and '2'"),
        (["1", "10", "100", "11"], None),
        (["1.5", "1.05", "1-5", "15"], None),
    ],
)
def test_subjects_that_are_probably_one(
    subjects: list[str], named: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    x = np.random.default_rng(0).normal(size=(8, 2, 50))
    subject = np.repeat(sorted(subjects), 2)
    read_windows(
        {"x": x, "subject": subject, "sfreq": 50.0, "y": [0, 1] * 4, "ch_names": ["u", "v"]}
    )
    texts = [text for text in caplog.messages if text.startswith("Subjects")]
    assert len(texts) == (named is not None)
    if named is not None:
        assert texts[0].startswith(f"Subjects {named} differ in capital letters, spaces or lead")


def notes_of(*arguments: object, **options: object) -> list[str]:
    """Return what Python warns of in data, each with this file as its place."""
    with pytest.warns() as caught:
        read_windows(*arguments, **options)
    assert {warning.category for warning in caught} == {cadda.DataWarning}
    assert {warning.filename for warning in caught} == {__file__}
    return [str(warning.message) for warning in caught]


def test_notes_are_warnings(tmp_path: Path, write_night: WriteNight) -> None:
    windows = cadda.simulate_motor_imagery(n_subjects=3, n_windows=4, seed=0)
    epochs = windows.to_epochs()
    (slow,) = notes_of([epochs[3:], epochs[:3]])
    assert slow.endswith("`highpass=4`")
    write_night(tmp_path)
    (merged,) = notes_of(tmp_path)
    assert merged == "stages 3 and 4 are merged into N3; `keep_stage_4=True` keeps N4"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_windows(tmp_path, keep_stage_4=True)
        read_windows(epochs, highpass=4)


def test_notes_are_visible_by_default(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    script = tmp_path / "script.py"
    script.write_text("import cadda\ncadda.read_windows('.')\n")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert done.stderr.count("script.py:2: DataWarning: stages 3 and 4 are merged") == 1
