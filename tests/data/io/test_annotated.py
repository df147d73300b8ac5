"""Any EDF files with annotations, by a mapping file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cadda.data.io.edf import read_annotations, read_edf_header
from cadda.data.io.options import ReadOptions
from cadda.data.io.read import read_windows
from cadda.data.io.read_result import read_with_quality
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
    rewrite(folder, "[classes]", "lowpass = false\nhighpass = false\noffset = 0.5\n[classes]")
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


def test_no_channel_has_a_place_on_the_head(tmp_path: Path, write_edf: WriteEdf) -> None:
    noise = np.random.default_rng(0).standard_normal(2000)
    write_edf(tmp_path / "S1R.edf", {"EMG 1": noise, "ECG": noise}, annotations=EVENTS)
    (tmp_path / "a.toml").write_text(MAPPING.replace('channels = ["C3", "C4"]\n', ""))
    with pytest.raises(DataError, match=r"10-20 system, but 'EMG 1', 'ECG'; set `channels`"):
        read_windows(tmp_path)
    assert read_windows(tmp_path, channels=["ECG"]).ch_names == ("ECG",)


def test_names_in_capital_letters(folder: Path) -> None:
    for file in folder.glob("S002*.edf"):
        file.rename(file.with_suffix(".EDF"))
    assert read_windows(folder).subjects == ["S001", "S002"]


def test_files_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "my.toml"
    elsewhere.write_text(f"files = '{folder}/S001*.edf'\n{MAPPING}")
    assert read_windows(elsewhere).subjects == ["S001"]


def test_a_list_of_files(folder: Path) -> None:
    rewrite(folder, "seconds", "files = ['S001R0*.edf', 'S001R04.edf', 'S002R08.edf']\nseconds")
    windows = read_windows(folder)
    assert dict.fromkeys(windows.recording).keys() == {"S001R04", "S001R08", "S002R08"}
    assert len(windows) == 9
    rewrite(folder, "'S001R04.edf'", "'S003*.edf'")
    with pytest.raises(DataError, match=r"key `files` must match a file, got 'S003\*\.edf'\."):
        read_windows(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seconds = 2.0", "", r"motor.toml: key `seconds` is missing\.$"),
        (
            "seconds = 2.0",
            "secs = 2.0",
            r"motor.toml: key `secs` is not a known key \(did you mean `seconds`\?\)\.$",
        ),
        ("seconds = 2.0", "seconds = 2.0\nSubject = 'x'", r"`Subject` .*did you mean `subject`"),
        ("seconds = 2.0", "seconds = 2.0\nxyz = 1", "`xyz` .* key; there are classes, sub"),
        ("seconds = 2.0", "seconds = -2.0", "`seconds` must be above 0, got -2.0"),
        ("seconds = 2.0", "seconds = 'two'", "`seconds` must be a valid number, .*got 'two'"),
        ("seconds = 2.0", "seconds = ", "motor.toml is not valid TOML"),
        (
            "seconds = 2.0",
            "seconds = 200.0",
            r"motor.toml: no window of the key `seconds`, 200 s, fits into its recording; "
            r"the longest .* has 20 s\.$",
        ),
        (
            'T1 = "left"\nT2 = "right"',
            'T8 = "left"\nT9 = "right"',
            r"no file has one of the annotations \['T8', 'T9'\]; "
            r"S001R04.edf has \['T0', 'T1', ",
        ),
        ("[classes]", "lowpass = true\n[classes]", "key `lowpass` must be a number, got True"),
        ("[classes]", "lowpass = -1\n[classes]", "key `lowpass` must be above 0, got -1"),
        ("T1 =", "T7 =", "no window of 'left'"),
        ("(S\\d+)R", "S\\d+R", "`subject` must be a regular expression with a group"),
        ("(S\\d+)R", "(S\\d+", "`subject` must be a regular expression with a group"),
        (
            "(S\\d+)R",
            "(S\\d+)X",
            "motor.toml: key `subject` must match .* does not match S001R04.edf",
        ),
        ('"C4"', '"C7"', "motor.toml: key `channels` must .* has no 'C7'; did you mean"),
        ("[classes]", "files = '*.bdf'\n[classes]", "motor.toml: key `files` must match a file"),
        ('T1 = "left"\nT2 = "right"', "", "`classes` must have at least 1 item"),
    ],
)
def test_refuses(folder: Path, old: str, new: str, message: str) -> None:
    rewrite(folder, old, new)
    with pytest.raises(DataError, match=message):
        read_windows(folder)


def test_channels_that_were_asked_for_are_an_argument(folder: Path) -> None:
    with pytest.raises(DataError, match=r"^`channels` must be in the recording, .* no 'Oz'"):
        read_windows(folder, channels=["Oz"])


def test_warns_about_annotations_that_no_file_has(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read_windows(folder)
    assert not caplog.messages
    rewrite(folder, "[classes]", '[classes]\nT3 = "left"')
    assert read_windows(folder).class_names == ("left", "right")
    (said,) = caplog.messages
    assert "no file has the annotation 'T3'" in said
    assert "there are 'T0', 'T1', 'T2'." in said


@pytest.mark.parametrize(
    ("seconds", "n_overlapping"), [("4.0", 0), ("4.001", 0), ("4.5", 12), ("8.0", 12)]
)
def test_overlapping_windows_are_counted(
    folder: Path, caplog: pytest.LogCaptureFixture, seconds: str, n_overlapping: int
) -> None:
    rewrite(folder, "seconds = 2.0", f"seconds = {seconds}")
    read_windows(folder)
    if n_overlapping:
        assert f"motor.toml: {n_overlapping} of 12 windows overlap" in caplog.text
        assert f"less than the key `seconds`, {float(seconds):g} s, apart; choose" in caplog.text
        assert "choose shorter windows if that is not intended" in caplog.text
    else:
        assert caplog.text == ""


def test_overlaps_name_the_argument(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_windows(folder, window_seconds=4.5)
    assert "annotations are less than `window_seconds`, 4.5 s, apart" in caplog.text
    caplog.clear()
    (folder / "motor.toml").unlink()
    read_windows(folder, window_seconds=4.5)
    assert "annotations are less than `window_seconds`, 4.5 s, apart" in caplog.text


def test_annotations_of_two_classes_at_the_same_time(
    tmp_path: Path, write_edf: WriteEdf, caplog: pytest.LogCaptureFixture
) -> None:
    noise = np.random.default_rng(0).standard_normal(2000)
    onsets = {"T1": [2.0, 6.0, 10.0, 14.0], "T2": [4.0, 6.0, 12.0, 14.0], "T3": [16.0]}
    events = sorted((onset, 2.0, text) for text, own in onsets.items() for onset in own)
    path = write_edf(tmp_path / "S1R.edf", {"C3": noise, "C4": noise}, annotations=events)
    assert len(read_windows(path)) == 9
    (text,) = (text for text in caplog.messages if "two labels" in text)
    assert f"{path}: the same signal has two labels 2 times" in text
    assert "such as 'T1' and 'T2' at 6 s of S1R; select one of them with `classes`" in text
    caplog.clear()
    assert len(read_windows(path, classes=["T1", "T3"])) == 5
    assert "two labels" not in caplog.text
    # Of the same class, they only overlap.
    read_windows(path, class_map={"T1": "hand", "T2": "hand", "T3": "rest"})
    assert "two labels" not in caplog.text


def test_windows_of_overlapping_annotations_are_in_the_order_of_time(
    tmp_path: Path, write_edf: WriteEdf, caplog: pytest.LogCaptureFixture
) -> None:
    """The second annotation begins while the first is still filled with windows."""
    times = np.arange(2000) / 100
    events = [(2.0, 10.0, "T1"), (5.0, 2.0, "T2")]
    write_edf(tmp_path / "S1R.edf", {"C3": 10 * times, "C4": -10 * times}, annotations=events)
    extra = "repeat = true\nlowpass = false\nhighpass = false\n[classes]"
    (tmp_path / "a.toml").write_text(MAPPING.replace("[classes]", extra))
    windows = read_windows(tmp_path, standardise=None)
    assert windows.y.tolist() == [0, 0, 1, 0, 0, 0]
    starts = 1e5 * windows.x[:, 0, 0].double()
    np.testing.assert_allclose(starts, [2, 4, 5, 6, 8, 10], atol=0.01)
    assert "3 of 6 windows overlap" in caplog.text


def test_times_are_rounded(tmp_path: Path, write_edf: WriteEdf) -> None:
    """In binary, 0.6 / 0.2 is a little less than 3, and 19.7 + 0.3 a little more than 20."""
    noise = np.random.default_rng(0).standard_normal(2000)
    events = [(4.0, 0.6, "T1"), (19.4, 0.6, "T2")]
    write_edf(tmp_path / "S1R.edf", {"C3": noise, "C4": noise}, annotations=events)
    text = MAPPING.replace("seconds = 2.0", "seconds = 0.2\nrepeat = true")
    (tmp_path / "a.toml").write_text(text)
    assert read_windows(tmp_path).y.tolist() == [0, 0, 0, 1, 1, 1]


def test_several_mapping_files(folder: Path) -> None:
    (folder / "other.toml").write_text(MAPPING)
    with pytest.raises(DataError, match=r"several mapping files, \['motor.toml', 'other.toml'\]"):
        read_windows(folder)


def test_toml_files_that_are_no_mapping_files(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "study"\n[tool.ruff]\nfix = true')
    assert read_windows(folder).class_names == ("left", "right")
    (folder / "motor.toml").unlink()
    assert read_windows(folder, window_seconds=1).class_names == ("T0", "T1", "T2")
    with pytest.raises(DataError, match=r"pyproject.toml: key `"):
        read_windows(folder / "pyproject.toml")
    # One that cannot be read may be a mapping file.
    (folder / "motor.toml").write_text("[classes")
    with pytest.raises(DataError, match=r"motor\.toml is not valid TOML"):
        read_windows(folder)


def test_the_mapping_file_of_a_folder_is_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "cadda")
    result = read_with_quality(folder, ReadOptions())
    assert result.notes[0] == "classes and preprocessing are those of the mapping file motor.toml"
    assert f"{folder}: classes are those of the mapping file motor.toml." in caplog.messages
    assert "mapping file" not in str(read_with_quality(folder / "motor.toml", ReadOptions()).notes)


def test_preprocessing_is_in_the_mapping_file(folder: Path) -> None:
    from cadda.data.io.preprocess import Preprocessing

    with pytest.raises(ValueError, match=r"`preprocessing` must be None, as .*motor.toml"):
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
    assert [note.text for note in read_annotations(read_edf_header(path))[0]] == ["éveil"]


def test_signals_are_not_mistaken_for_annotations(tmp_path: Path, write_edf: WriteEdf) -> None:
    path = write_edf(tmp_path / "a.edf", {"Cz": np.zeros(1000)}, annotations=[(1.0, 2.0, "real")])
    content = bytearray(path.read_bytes())
    start = int(content[184:192])
    content[start : start + 14] = b"+5\x152\x14forged\x14\x00\x00"
    path.write_bytes(bytes(content))
    assert [note.text for note in read_annotations(read_edf_header(path))[0]] == ["real"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_of_files_that_are_not_utf8(
    folder: Path, cache_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(folder, "subject = '(S\\d+)R'", "")
    before = read_windows(folder)
    odd = os.fsdecode(b"caf\xe9")
    (folder / "S001R04.edf").rename(folder / f"{odd}.edf")
    for _ in range(2):
        windows = read_windows(folder)
        assert "is not UTF-8: continuing without the cache." in caplog.text
        assert windows.subjects == ["S001R08", "S002R04", "S002R08", "caf\\udce9"]
        here = windows.of_subjects(["caf\\udce9"]).x
        np.testing.assert_array_equal(here, before.of_subjects(["S001R04"]).x)
