"""`read_windows` finds the reader, and says in one sentence why there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mne
import numpy as np
import pytest

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


@pytest.mark.parametrize("name", ["data.csv", "data.mat", "data"])
def test_unknown_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1, 2, 3")
    with pytest.raises(DataError, match=rf"{name} must be an MNE epochs file .* of recordings\.$"):
        read_windows(tmp_path / name)


@pytest.mark.parametrize("name", ["a.eeg", "a.vmrk", "a.EEG"])
def test_part_of_a_brainvision_recording(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    message = f"{name} is a part of a BrainVision recording; pass a.vhdr"
    with pytest.raises(DataError, match=rf"{message}, which is missing\.$"):
        read_windows(tmp_path / name)
    (tmp_path / "a.vhdr").touch()
    with pytest.raises(DataError, match=rf"{message}\.$"):
        read_windows(tmp_path / name)


def test_single_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 2, 100)))
    with pytest.raises(
        DataError, match=r"x\.npy has a single array; .* \.npz file .*cadda\.Windows"
    ):
        read_windows(tmp_path / "x.npy")


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


def test_nothing_is_printed(
    tmp_path: Path, write_night: WriteNight, capfd: pytest.CaptureFixture[str]
) -> None:
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
