"""Nights in the naming of Sleep Physionet and of MASS, as files that the tests write."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from losses import Losses

from cadda.data.io import edf, sleep_edf
from cadda.data.io.hypnogram import STAGES
from cadda.data.io.options import ReadOptions
from cadda.data.io.read import read_windows
from cadda.data.io.sleep_edf import plan_sleep
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]
WriteNight = Callable[..., Path]


def test_sleep_physionet(tmp_path: Path, write_night: WriteNight) -> None:
    for seed, name in enumerate(("SC4001", "SC4002", "SC4011")):
        write_night(tmp_path, name, seed=seed)
    windows = read_windows(tmp_path)
    assert windows.class_names == STAGES
    assert windows.ch_names == ("Fpz-Cz", "Pz-Oz")
    assert windows.x.shape == (36, 2, 3000)
    assert windows.sfreq == 100
    assert windows.subjects == ["SC400", "SC401"]
    assert list(dict.fromkeys(windows.recording)) == ["SC4001", "SC4002", "SC4011"]
    assert windows.y[:6].tolist() == [0, 1, 2, 3, 3, 4]
    np.testing.assert_allclose(windows.x.std(-1, correction=0), 1, rtol=1e-4)


def test_the_reference_of_nights_is_left_out(
    tmp_path: Path, write_night: WriteNight, caplog: pytest.LogCaptureFixture
) -> None:
    for seed, name in enumerate(("SC4001", "SC4011")):
        write_night(tmp_path, name, seed=seed)
    every = read_windows(tmp_path, standardise=None)
    windows = read_windows(tmp_path, reference="Pz-Oz", standardise=None)
    assert windows.ch_names == ("Fpz-Cz",)
    # Filters are linear.
    torch.testing.assert_close(windows.x[:, 0], every.x[:, 0] - every.x[:, 1], rtol=0, atol=1e-9)
    assert caplog.text.count("Pz-Oz is the only channel of `reference`") == 1


def test_every_header_is_read_once(
    tmp_path: Path, write_night: WriteNight, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_night(tmp_path)
    opened: list[str] = []
    open_regular = edf.open_regular

    def counting_open(path: Path) -> object:
        opened.append(path.name)
        return open_regular(path)

    monkeypatch.setattr(edf, "open_regular", counting_open)
    sleep_edf.plan_sleep(tmp_path, ReadOptions())
    assert sorted(opened) == ["SC4001E0-PSG.edf", "SC4001EC-Hypnogram.edf"]


def test_mass(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path / "SS3", "01-03-0001", sfreq=256.0)
    # Half of the subjects have another reference.
    channels = [f"EEG {c}-LER" for c in ("O2", "O1", "F4", "F3", "C4", "C3")]
    write_night(tmp_path / "SS3", "01-03-0002", sfreq=256.0, channels=channels)
    windows = read_windows(tmp_path)
    assert windows.ch_names == ("C3", "C4", "F3", "F4", "O1", "O2")
    assert windows.x.shape == (24, 6, 3840)
    assert windows.sfreq == 128
    assert windows.subjects == ["01-03-0001", "01-03-0002"]


def test_channels_come_in_the_order_wanted(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    both = read_windows(tmp_path)
    swapped = read_windows(tmp_path, channels=["Pz-Oz", "fpz-cz"])
    assert swapped.ch_names == ("Pz-Oz", "fpz-cz")
    np.testing.assert_array_equal(swapped.x, both.x[:, [1, 0]])


def test_wake_is_kept_for_half_an_hour(tmp_path: Path, write_night: WriteNight) -> None:
    stages = ["W"] * 70 + ["1", "2", "3", "R"] + ["W"] * 80
    write_night(tmp_path, stages=stages, seconds=30 * len(stages))
    assert read_windows(tmp_path).class_counts().tolist() == [120, 1, 1, 1, 1]


def test_movement_and_unscored_pages_are_left_out(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path, stages=["W", "?", "1", "Movement time", "2", "3", "R"])
    assert read_windows(tmp_path).class_counts().tolist() == [1] * 5


def test_hypnogram_may_start_later_than_its_recording(
    tmp_path: Path,
    write_night: WriteNight,
    write_edf: WriteEdf,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_night(tmp_path)
    pages = [(30 * i, 30, f"Sleep stage {s}") for i, s in enumerate("W123R")]
    late = datetime.time(22, 2, 0)
    write_edf(tmp_path / "SC4001EC-Hypnogram.edf", {}, annotations=pages, start=late)
    plan = plan_sleep(tmp_path, ReadOptions())
    assert plan.recordings[0].starts.tolist() == [120, 150, 180, 210, 240]
    assert "SC4001EC-Hypnogram.edf starts 120 s after SC4001E0-PSG.edf" in caplog.text


def test_other_lengths_and_rates(tmp_path: Path, write_night: WriteNight) -> None:
    from cadda.data.io.preprocess import Preprocessing

    write_night(tmp_path, "SC4001", sfreq=100.0)
    write_night(tmp_path, "SC4011", sfreq=200.0)
    with pytest.raises(
        DataError, match=r"one sampling rate, but SC4001E0-PSG.edf has 100 Hz, SC4011.* 200 Hz"
    ):
        read_windows(tmp_path)
    windows = read_windows(tmp_path, preprocessing=Preprocessing(sfreq=64.0, seconds=15.0))
    assert windows.x.shape == (48, 2, 960)


def test_nights_with_channels_of_other_rates(
    tmp_path: Path, write_night: WriteNight, write_edf: WriteEdf
) -> None:
    write_night(tmp_path)
    noise = np.random.default_rng(0).standard_normal
    signals = {"EEG Fpz-Cz": 9 * noise(36_000), "EEG Pz-Oz": 9 * noise(36_000), "Temp": noise(360)}
    write_edf(tmp_path / "SC4001E0-PSG.edf", signals, [100.0, 100.0, 1.0])
    assert read_windows(tmp_path).x.shape == (12, 2, 3000)
    with pytest.raises(DataError, match="has channels with different sampling rates"):
        read_windows(tmp_path, channels=["Fpz-Cz", "Temp"])


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5000])


def cut_in_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:300])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def not_edf(path: Path) -> None:
    path.write_text("hello " * 1000)


def with_gaps(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:192] + b"EDF+D" + content[197:])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_off, r"truncated: .* \d+ records, but only \d+ are present; copy"),
        (cut_in_header, "truncated in its header, or is not an EDF file"),
        (empty, "is not an EDF file"),
        (not_edf, "is not an EDF file"),
        (with_gaps, r"has gaps in time \(EDF\+D\)"),
        (Path.unlink, r"has no recording for SC4001; a night needs both"),
    ],
)
def test_damaged_recordings(
    tmp_path: Path, write_night: WriteNight, damage: Callable[[Path], None], message: str
) -> None:
    write_night(tmp_path, "SC4011")
    damage(write_night(tmp_path, "SC4001"))
    with pytest.raises(DataError, match=message):
        read_windows(tmp_path)


def test_hypnogram_is_missing(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    (tmp_path / "SC4001EC-Hypnogram.edf").unlink()
    with pytest.raises(DataError, match="has no hypnogram for SC4001"):
        read_windows(tmp_path)


def test_hypnogram_of_another_night(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path, stages=["2", "3"] * 40, seconds=600)
    with pytest.raises(DataError, match=r"SC4001EC-Hypnogram.edf does not fit its recording"):
        read_windows(tmp_path)


def test_hypnogram_of_another_day(
    tmp_path: Path, write_night: WriteNight, write_edf: WriteEdf
) -> None:
    write_night(tmp_path)
    pages = [(0, 30, "Sleep stage 2")]
    morning = datetime.time(3, 0, 0)
    write_edf(tmp_path / "SC4001EC-Hypnogram.edf", {}, annotations=pages, start=morning)
    with pytest.raises(DataError, match=r"does not fit SC4001E0-PSG.edf: it starts at .* 03:00"):
        read_windows(tmp_path)


def test_channels_that_are_not_there(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    with pytest.raises(DataError, match=r"has no 'Fpz-Pz'; did you mean 'EEG Fpz-Cz'"):
        read_windows(tmp_path, channels=["Fpz-Pz"])
    with pytest.raises(DataError, match=r"has no 'XYZ'; it has 'EEG Fpz-Cz', 'EEG Pz-Oz', 'EOG"):
        read_windows(tmp_path, channels=["XYZ"])
    with pytest.raises(ValueError, match=r"'fpz-cz' and another name are both 'EEG Fpz-Cz'"):
        read_windows(tmp_path, channels=["fpz-cz", "EEG Fpz-Cz"])


def test_channel_that_may_be_several(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path, channels=["C3-A1", "C3-A2", "C4-A1"])
    with pytest.raises(DataError, match=r"ambiguous: 'C3' .* 'C3-A1', 'C3-A2'"):
        read_windows(tmp_path, channels=["C3"])
    assert read_windows(tmp_path, channels=["C4", "C3-A2"]).n_channels == 2


@pytest.mark.parametrize("content", [None, "notes.txt", "night.edf"])
def test_folder_without_pairs(tmp_path: Path, write_edf: WriteEdf, content: str | None) -> None:
    if content == "notes.txt":
        (tmp_path / content).write_text("nothing")
    elif content:
        write_edf(tmp_path / content, {"Cz": np.random.default_rng(0).standard_normal(100)})
    what = "annotation" if content == "night.edf" else "recording; .* such as 'SC4001E0-PSG"
    with pytest.raises(DataError, match=rf"has no {what}"):
        read_windows(tmp_path)


def test_class_without_windows(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path, stages=["W", "1", "2", "R"] * 2)
    with pytest.raises(DataError, match=r"no window of 'N3'; .*`min_windows`=1"):
        read_windows(tmp_path)
    assert read_windows(tmp_path, min_windows=1).class_names == ("W", "N1", "N2", "R")
    assert read_windows(tmp_path, classes=["R", "W"]).y.tolist() == [1, 0, 1, 0]


def test_flat_windows_are_counted_dropped_or_refused(
    tmp_path: Path,
    write_night: WriteNight,
    write_edf: WriteEdf,
    losses: Losses,
) -> None:
    psg = write_night(tmp_path)
    noise = 9 * np.random.default_rng(0).standard_normal((2, 36_000))
    noise[1, 3000:9000] = 1.0
    write_edf(psg, {"EEG Fpz-Cz": noise[0], "EEG Pz-Oz": noise[1]})
    with pytest.raises(
        DataError, match=r"2 of 12 .* a flat channel, Pz-Oz \(2\); drop them.*4001 \(2"
    ):
        read_windows(tmp_path)
    windows = read_windows(tmp_path, on_bad="drop")
    assert windows.class_counts().tolist() == [2, 1, 1, 4, 2]
    assert losses.text.count("2 of 12 windows have NaN or a flat channel and are not used") == 1
    assert len(read_windows(tmp_path, channels=["Fpz-Cz"])) == 12
    write_edf(psg, {"EEG Fpz-Cz": noise[0], "EEG Pz-Oz": np.zeros(36_000)})
    with pytest.raises(DataError, match=r"all 12 windows have NaN .*`channels`"):
        read_windows(tmp_path, on_bad="drop")


def test_every_window_of_a_class_is_flat(
    tmp_path: Path, write_night: WriteNight, write_edf: WriteEdf
) -> None:
    psg = write_night(tmp_path, stages=["W", "1", "2", "3", "R"])
    noise = 9 * np.random.default_rng(0).standard_normal(15_000)
    noise[12_000:] = 0.0
    write_edf(psg, {"EEG Fpz-Cz": noise, "EEG Pz-Oz": noise})
    with pytest.raises(DataError, match="every window of 'R' has NaN or a flat channel"):
        read_windows(tmp_path, on_bad="drop")


def test_same_night_twice(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path / "a")
    write_night(tmp_path / "b")
    with pytest.raises(DataError, match=r"duplicate recording SC4001: .*a/.* and .*b/SC4"):
        read_windows(tmp_path)
    assert read_windows(tmp_path / "a").subjects == ["SC400"]


def test_names_in_small_letters(tmp_path: Path, write_night: WriteNight) -> None:
    psg = write_night(tmp_path)
    psg.rename(tmp_path / "sc4001e0-psg.EDF")
    assert read_windows(tmp_path).recording[0] == "SC4001"


@pytest.mark.parametrize(
    "engine", ["processes:2", pytest.param("dask:local:2", marks=pytest.mark.slow)]
)
def test_nights_are_the_same_on_every_engine(
    write_night: WriteNight, tmp_path: Path, engine: str
) -> None:
    for number in range(1, 6):
        write_night(tmp_path, f"SC40{number}1", seed=number)
    here = read_windows(tmp_path, cache=False)
    progress: list[tuple[int, int, str]] = []
    there = read_windows(
        tmp_path, cache=False, engine=engine, on_progress=lambda *step: progress.append(step)
    )
    assert torch.equal(here.x, there.x)
    assert torch.equal(here.y, there.y)
    assert here.subject.tolist() == there.subject.tolist()
    assert [done for done, _, _ in progress] == list(range(6))


def test_an_engine_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`engine` must be"):
        read_windows(tmp_path, engine="threads:2")


def test_hypnogram_by_itself(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    file = tmp_path / "SC4001EC-Hypnogram.edf"
    message = f"{file} is a hypnogram, without signals; pass the folder with its recording as well"
    with pytest.raises(DataError, match=re.escape(f"{message}, {tmp_path}.")):
        read_windows(file)
