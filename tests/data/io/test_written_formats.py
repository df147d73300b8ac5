"""GDF, Neuroscan and EGI recordings that the tests write, from a file to windows."""

from __future__ import annotations

import sys
from pathlib import Path

import mne
import numpy as np
import pytest
from commands import run
from eeg_files import write_cnt, write_gdf, write_mff

from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

NAMES = ["C3", "CZ", "C4", "VEOG"]
EVENTS = [(200, "769"), (1000, "770"), (2000, "769"), (3000, "770"), (4100, "769")]
SIGNALS = 20 * np.random.default_rng(0).standard_normal((4, 6000))  # µV
EXPECTED = np.stack([SIGNALS[:3, start : start + 200] for start, _ in EVENTS])

WRITERS = {".gdf": write_gdf, ".cnt": write_cnt, ".mff": write_mff}
MAPPING = """
subject = "(s[0-9])"
seconds = 2.0
lowpass = false
highpass = false
[classes]
769 = "left"
770 = "right"
"""


@pytest.fixture(params=WRITERS)
def suffix(request: pytest.FixtureRequest) -> str:
    if request.param == ".mff":
        pytest.importorskip("mffpy", reason="MNE reads MFF with mffpy")
    return request.param


def write(path: Path, signals: np.ndarray = SIGNALS) -> Path:
    return WRITERS[path.suffix](path, signals, NAMES, 100, EVENTS)


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")  # no positions in CNT
def test_mne_reads_what_was_written(tmp_path: Path, suffix: str) -> None:
    raw = mne.io.read_raw(write(tmp_path / f"a{suffix}"), verbose="error")
    assert raw.ch_names[:4] == NAMES
    assert (raw.info["sfreq"], raw.n_times) == (100.0, 6000)
    np.testing.assert_allclose(1e6 * raw.get_data(NAMES), SIGNALS, atol=0.011)
    np.testing.assert_allclose(raw.annotations.onset, [start / 100 for start, _ in EVENTS])
    assert list(raw.annotations.description) == [code for _, code in EVENTS]


def test_windows(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / f"a{suffix}")
    for cache in (False, True, True):
        windows = read_windows(
            path, window_seconds=2.0, lowpass=None, highpass=None, standardise=None, cache=cache
        )
        np.testing.assert_allclose(1e6 * windows.x, EXPECTED, atol=0.011)
    assert windows.class_names == ("769", "770")
    assert windows.y.tolist() == [0, 1, 0, 1, 0]
    assert windows.ch_names == ("C3", "CZ", "C4")
    # Of these, only EGI has positions of sensors.
    assert (windows.positions is not None) == (suffix == ".mff")
    assert capsys.readouterr().out == ""


def test_mapping_file(tmp_path: Path, suffix: str) -> None:
    for name in ("s1-a", "s1-b", "s2-a"):
        write(tmp_path / f"{name}{suffix}")
    mapping = tmp_path / "mapping.toml"
    for files in ("", f'files = "*{suffix}"\n'):
        mapping.write_text(files + MAPPING)
        windows = read_windows(mapping, standardise=None)
        assert windows.subjects == ["s1", "s2"]
        assert windows.class_counts().tolist() == [9, 6]
        np.testing.assert_allclose(1e6 * windows.x, np.concatenate([EXPECTED] * 3), atol=0.011)
    out = run("data", "info", mapping).stdout
    assert "15 windows of 3 channels × 2 s at 100 Hz, 2 subjects" in out
    assert "left" in out


def test_changed_signals_are_read_again(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}")
    before = read_windows(path, window_seconds=2.0, standardise=None)
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    after = read_windows(write(path, SIGNALS / 2), window_seconds=2.0, standardise=None)
    np.testing.assert_allclose(2 * after.x, before.x, atol=1e-7)


def test_every_file_of_a_folder_counts(tmp_path: Path) -> None:
    """A recording is read again if only its gains have changed."""
    pytest.importorskip("mffpy", reason="MNE reads MFF with mffpy")
    path = write(tmp_path / "a.mff")
    arguments = {"window_seconds": 2.0, "standardise": None}
    before = read_windows(path, **arguments)
    gains = "".join(f'<ch n="{i}">2.0</ch>' for i in range(1, 5))
    calibration = (
        "<calibrations><calibration><beginTime>0</beginTime><type>GCAL</type>"
        f"<channels>{gains}</channels></calibration></calibrations></dataInfo>"
    )
    info = path / "info1.xml"
    info.write_text(info.read_text().replace("</dataInfo>", calibration))
    after = read_windows(path, **arguments)
    truth = read_windows(path, **arguments, cache=False)
    np.testing.assert_array_equal(after.x, truth.x)
    assert not np.array_equal(after.x, before.x)


def test_pauses_of_egi_are_bad(tmp_path: Path) -> None:
    """Between two recordings in one folder there are no signals, and MNE fills in zeros."""
    pytest.importorskip("mffpy", reason="MNE reads MFF with mffpy")
    path = write(tmp_path / "a.mff")
    epochs = path / "epochs.xml"
    part = "<epoch><beginTime>{}</beginTime><endTime>{}</endTime>{}</epoch>"
    blocks = "<firstBlock>{0}</firstBlock><lastBlock>{0}</lastBlock>"
    content = part.format(0, 20_000_000, blocks.format(1)) + part.format(
        22_000_000, 62_000_000, blocks.format(2)
    )
    head = epochs.read_text().partition("<epoch>")[0]
    epochs.write_text(f"{head}{content}</epochs>")
    windows = read_windows(path, window_seconds=2.0, lowpass=None, highpass=None, standardise=None)
    # The third event is in the pause.
    assert windows.y.tolist() == [0, 1, 1, 0]


def test_reference_of_egi_is_left_out(tmp_path: Path) -> None:
    """It is recorded as a channel of zeros, which would make every window bad."""
    pytest.importorskip("mffpy", reason="MNE reads MFF with mffpy")
    signals = np.concatenate([SIGNALS[:3], np.zeros((1, 6000))])
    path = write_mff(tmp_path / "a.mff", signals, ["E1", "E2", "E3", "VREF"], 100, EVENTS)
    assert read_windows(path, window_seconds=2.0).ch_names == ("E1", "E2", "E3")


def test_without_mffpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.mff")
    for name in ("mffpy", "defusedxml"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DataError, match=r"cannot read .*a\.mff: .*(mffpy|defusedxml)"):
        read_windows(path, window_seconds=2.0)
