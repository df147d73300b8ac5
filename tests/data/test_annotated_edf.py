"""Any EDF files with annotations, by a mapping file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cadda.data.annotated_edf import read_annotations, read_edf_header
from cadda.data.readers import read_windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]

MAPPING = """
subject = '(S\\d+)R'
seconds = 2.0
channels = ["C3", "C4"]
[classes]
T1 = "left"
T2 = "right"
"""

EVENTS = [
    (0.0, 4.0, "T0"),
    (4.0, 4.0, "T1"),
    (8.0, 4.0, "T2"),
    (12.0, 4.0, "T1"),
    (19.0, 4.0, "T2"),
]


@pytest.fixture
def folder(tmp_path: Path, write_edf: WriteEdf) -> Path:
    """Two subjects with two runs each, of twenty seconds."""
    rng = np.random.default_rng(0)
    for name in ("S001R04", "S001R08", "S002R04", "S002R08"):
        signals = {label: 20 * rng.standard_normal(2000) for label in ("C3..", "C4..", "EMG 1")}
        write_edf(tmp_path / f"{name}.edf", signals, annotations=EVENTS)
    (tmp_path / "motor.toml").write_text(MAPPING)
    return tmp_path


def rewrite(folder: Path, old: str, new: str) -> None:
    file = folder / "motor.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_windows(folder: Path) -> None:
    windows = read_windows(folder)
    # The last annotation begins a second before the end.
    assert windows.y.tolist() == [0, 1, 0] * 4
    assert windows.x.shape == (12, 2, 200)
    assert windows.class_names == ("left", "right")
    assert windows.ch_names == ("C3", "C4")
    assert windows.subjects == ["S001", "S002"]
    assert windows.recording[0] == "S001R04"


def test_windows_hold_what_was_annotated(folder: Path) -> None:
    rewrite(folder, "[classes]", "lowpass = false\noffset = 0.5\n[classes]")
    windows = read_windows(folder / "motor.toml", standardise=None)
    import mne

    raw = mne.io.read_raw_edf(folder / "S001R04.edf", verbose="error")
    expected = raw.get_data(["C3..", "C4.."], start=450, stop=650)
    np.testing.assert_allclose(windows.x[0], expected, rtol=1e-6)


def test_repeat_fills_annotations(folder: Path) -> None:
    rewrite(folder, "seconds = 2.0", "seconds = 1.5\nrepeat = true")
    assert read_windows(folder).y[:6].tolist() == [0, 0, 1, 1, 0, 0]


def test_several_annotations_of_one_class(folder: Path) -> None:
    rewrite(folder, '"right"', '"move"\nT0 = "rest"')
    rewrite(folder, '"left"', '"move"')
    windows = read_windows(folder)
    assert windows.class_names == ("move", "rest")
    assert windows.y[:4].tolist() == [1, 0, 0, 0]


def test_all_channels_with_a_place_on_the_head(folder: Path) -> None:
    rewrite(folder, 'channels = ["C3", "C4"]\n', "")
    assert read_windows(folder).ch_names == ("C3..", "C4..")


def test_files_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "my.toml"
    elsewhere.write_text(f"files = '{folder}/S001*.edf'\n{MAPPING}")
    assert read_windows(elsewhere).subjects == ["S001"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seconds = 2.0", "secs = 2.0", "motor.toml: `seconds`: Field required"),
        ("seconds = 2.0", "seconds = 2.0\nsecs = 1", "motor.toml: `secs`: Extra inputs"),
        ("seconds = 2.0", "seconds = -2.0", "`seconds`: Input should be greater than 0"),
        ("seconds = 2.0", "seconds = ", "motor.toml is not valid TOML"),
        ("seconds = 2.0", "seconds = 200.0", "no file beside .* has one of the annotations"),
        ("T1 =", "T7 =", "there is no window of 'left'"),
        ("(S\\d+)R", "S\\d+R", "`subject` must be a regular expression with a group"),
        ("(S\\d+)R", "(S\\d+", "`subject` must be a regular expression with a group"),
        ("(S\\d+)R", "(S\\d+)X", "`subject` must match every file, but .* not S001R04.edf"),
        ('"C4"', '"C7"', "has no 'C7'; did you mean"),
        ("[classes]", "files = '*.bdf'\n[classes]", "`files`: no file beside it is named like"),
        ('T1 = "left"\nT2 = "right"', "", "`classes`: Dictionary should have at least 1 item"),
    ],
)
def test_refuses(folder: Path, old: str, new: str, message: str) -> None:
    rewrite(folder, old, new)
    with pytest.raises(DataError, match=message):
        read_windows(folder)


def test_several_mapping_files(folder: Path) -> None:
    (folder / "other.toml").write_text(MAPPING)
    with pytest.raises(DataError, match=r"several mapping files, \['motor.toml', 'other.toml'\]"):
        read_windows(folder)


def test_preprocessing_is_in_the_mapping_file(folder: Path) -> None:
    from cadda.data.preprocess import Preprocessing

    with pytest.raises(ValueError, match=r"`preprocessing` must be None, as .*motor.toml says"):
        read_windows(folder, preprocessing=Preprocessing())


def test_header(folder: Path) -> None:
    header = read_edf_header(folder / "S001R04.edf")
    assert header.labels == ("C3..", "C4..", "EMG 1")
    assert header.sfreqs == (100, 100, 100)
    assert header.seconds == 20
    assert header.start is not None
    assert header.start.hour == 22


def test_recorder_that_was_switched_off(folder: Path) -> None:
    """Such files say -1 records."""
    path = folder / "S001R04.edf"
    content = path.read_bytes()
    path.write_bytes(content[:236] + b"-1      " + content[244:])
    assert read_edf_header(path).seconds == 20
    assert len(read_windows(folder)) == 12


def test_annotations_in_latin1(tmp_path: Path, write_edf: WriteEdf) -> None:
    noise = np.random.default_rng(0).standard_normal(1000)
    path = write_edf(tmp_path / "a.edf", {"Cz": noise}, annotations=[(1.0, 2.0, "eveil")])
    path.write_bytes(path.read_bytes().replace(b"eveil", "éveil".encode("latin1")))
    assert [one.text for one in read_annotations(path)] == ["éveil"]


def test_signals_are_not_mistaken_for_annotations(tmp_path: Path, write_edf: WriteEdf) -> None:
    path = write_edf(tmp_path / "a.edf", {"Cz": np.zeros(1000)}, annotations=[(1.0, 2.0, "real")])
    content = bytearray(path.read_bytes())
    start = int(content[184:192])
    content[start : start + 14] = b"+5\x152\x14forged\x14\x00\x00"
    path.write_bytes(bytes(content))
    assert [one.text for one in read_annotations(path)] == ["real"]
