"""MNE epochs in and out."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from losses import Losses

from cadda.data.io.epochs import epochs_to_windows
from cadda.data.io.options import ReadOptions
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.read import read_windows
from cadda.data.io.read_result import read_with_quality
from cadda.data.windows import Windows
from cadda.exceptions import DataError

pd = pytest.importorskip("pandas")


def make_epochs(
    codes: list[int],
    event_id: dict[str, int],
    *,
    subjects: list[Any] | None = None,
    types: str | list[str] = "eeg",
    ch_names: tuple[str, ...] = ("C3", "Cz", "C4"),
    seed: int = 0,
    **metadata: list[Any],
) -> mne.EpochsArray:
    rng = np.random.default_rng(seed)
    info = mne.create_info(list(ch_names), 100.0, types)
    data = 1e-5 * rng.standard_normal((len(codes), len(ch_names), 200))
    events = np.column_stack([np.arange(len(codes)) * 200, np.zeros(len(codes), int), codes])
    columns = {**({} if subjects is None else {"subject": subjects}), **metadata}
    return mne.EpochsArray(
        data,
        info,
        events,
        event_id=event_id,
        metadata=pd.DataFrame(columns) if columns else None,
        verbose="error",
    )


@pytest.fixture
def epochs() -> mne.EpochsArray:
    """Events whose names are not in the order of their ids."""
    return make_epochs(
        [3, 1, 1, 3], {"right": 3, "left": 1}, subjects=[7, 7, 8, 8], run=[1, 2, 1, 2]
    )


def test_events_are_classes_in_the_order_of_their_ids(epochs: mne.EpochsArray) -> None:
    windows = read_windows(epochs)
    assert windows.class_names == ("left", "right")
    assert windows.y.tolist() == [1, 0, 0, 1]
    assert windows.subject.tolist() == ["7", "7", "8", "8"]
    assert windows.ch_names == ("C3", "Cz", "C4")
    assert windows.sfreq == 100
    assert windows.positions is None
    data = epochs.get_data()
    expected = (data - data.mean(-1, keepdims=True)) / data.std(-1, keepdims=True)
    np.testing.assert_allclose(windows.x, expected, atol=1e-5)


def test_subject_is_any_column(epochs: mne.EpochsArray) -> None:
    assert read_windows(epochs, subject="run").subject.tolist() == ["1", "2", "1", "2"]
    with pytest.raises(
        DataError,
        match=r"column of the metadata, but epochs has \['subject', 'run'\], not 'runs' \(did you",
    ):
        read_windows(epochs, subject="runs")


def test_tables_that_turned_whole_numbers_into_floats(caplog: pytest.LogCaptureFixture) -> None:
    """As pandas does for a column that had a missing value."""
    codes, ids = [1, 2, 1, 2], {"a": 1, "b": 2}
    whole = make_epochs(codes, ids, subjects=[1, 1, 2, 2], group=[0, 1, 0, 1])
    table = pd.DataFrame({"subject": [1, 1, 2, 2, None], "group": [0, 1, 0, 1, None]}).iloc[:4]
    assert table["subject"].tolist() == [1.0, 1.0, 2.0, 2.0]
    turned = make_epochs(codes, ids, seed=1)
    turned.metadata = table
    windows = read_windows([whole, turned], label="group")
    assert windows.subjects == ["1", "2"]
    assert windows.class_names == ("0", "1")
    spaces = make_epochs(codes, ids, seed=2, subjects=["1 ", " 1", "2", 2.0])
    assert read_windows([whole, spaces]).subjects == ["1", "2"]
    halves = make_epochs(codes, ids, subjects=[1.5, 1.5, 2.0, 2.0])
    assert read_windows(halves).subjects == ["1.5", "2"]
    assert "Subjects" not in caplog.text


def test_events_with_one_code() -> None:
    some = make_epochs([1, 2] * 2, {"a": 1, "b": 2})
    some.event_id = {"a": 1, "b": 2, "c": 2}
    message = r"epochs: the events 'b' and 'c' have the same code, 2, so that the class .* ambig"
    with pytest.raises(DataError, match=message):
        read_windows(some)
    windows = read_windows(some, class_map={"a": "x", "b": "y", "c": "y"})
    assert windows.y.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataError, match=message):
        read_windows(some, class_map={"a": "x", "b": "y", "c": "z"})
    # Codes without epochs do not matter, nor do stages that are one.
    some.event_id = {"a": 1, "b": 2, "c": 3, "d": 3}
    assert read_windows(some, min_windows=1).class_names == ("a", "b")
    some.event_id = {"Sleep stage 2": 1, "Sleep stage 3": 2, "Sleep stage 4": 2}
    windows = read_windows(some, min_windows=1)
    assert windows.class_names == ("N2", "N3")
    assert windows.y.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataError, match="'Sleep stage 3' and 'Sleep stage 4' have the same code"):
        read_windows(some, keep_stage_4=True)


def test_epochs_with_time_zero_elsewhere() -> None:
    codes, ids = [1, 2], {"a": 1, "b": 2}
    first, other = make_epochs(codes, ids), make_epochs(codes, ids, seed=1)
    other.shift_time(-1.0, relative=True)
    assert len(first.times) == len(other.times)
    message = r"begin at the same time .*, but epochs 1 begins at 0 s and epochs 2 at -1 s; crop"
    with pytest.raises(DataError, match=message):
        read_windows([first, other])
    # Recorders with other clocks round to half a sample.
    other.shift_time(0.004, relative=False)
    assert len(read_windows([first, other])) == 4


def test_epochs_without_metadata_are_of_one_subject() -> None:
    codes, ids = [1, 2, 1], {"a": 1, "b": 2}
    windows = read_windows(make_epochs(codes, ids))
    assert windows.subjects == ["epochs"]
    named = make_epochs(codes, ids)
    named.info["subject_info"] = {"his_id": "anna"}
    assert read_windows(named).subjects == ["anna"]
    with pytest.raises(
        DataError, match=r"but epochs has no metadata, not 'subject'; set epochs\.meta"
    ):
        read_windows(named, subject="subject")


def test_metadata_without_subjects() -> None:
    some = make_epochs([1, 2], {"a": 1, "b": 2}, person=["x", "y"])
    with pytest.raises(
        DataError,
        match=r"but epochs has \['person'\], not 'subject'; name .*`subject`",
    ):
        read_windows(some)
    assert read_windows(some, subject="person").subjects == ["x", "y"]
    holes = make_epochs([1, 2], {"a": 1, "b": 2}, subjects=["x", None])
    with pytest.raises(DataError, match="column 'subject' of the metadata is empty for 1 epochs"):
        read_windows(holes)
    blank = make_epochs([1, 2], {"a": 1, "b": 2}, subjects=pd.array(["x", None], dtype="string"))
    with pytest.raises(DataError, match="column 'subject' of the metadata is empty for 1 epochs"):
        read_windows(blank)


def test_several_epochs_without_a_column_of_subjects(caplog: pytest.LogCaptureFixture) -> None:
    """Each is a subject, as are recordings."""
    parts = [make_epochs([1, 2], {"a": 1, "b": 2}, block=[1, 2], seed=i) for i in range(3)]
    assert read_windows(parts).subjects == ["epochs 1", "epochs 2", "epochs 3"]
    assert "Each of the 3 epochs objects or files" in caplog.text
    caplog.clear()
    assert read_windows(parts, subject=["x", "y", "x"]).subject.tolist() == list("xxyyxx")
    for part, name in zip(parts, ("u", "v", "v"), strict=True):
        part.info["subject_info"] = {"his_id": name}
    assert read_windows(parts).subject.tolist() == list("uuvvvv")
    assert not caplog.messages
    with pytest.raises(ValueError, match=r"one name per source, 3 for 3 epochs .*, got 6"):
        read_windows(parts, subject=list("xxyyzz"))
    with pytest.raises(DataError, match=r"has \['block'\], not 'subject'"):
        read_windows(parts[0])


def test_the_same_epochs_twice(caplog: pytest.LogCaptureFixture, losses: Losses) -> None:
    ids = {"left": 1, "right": 2}
    first, second = (make_epochs([1, 2] * 3, ids, subjects=list("aabbcc"), seed=i) for i in (0, 1))
    read_windows([first, second], subject="subject")
    assert not caplog.records
    assert not any("copies" in str(warning.message) for warning in losses.caught)
    assert len(read_windows([first, second, first[:4]], subject="subject")) == 16
    text = "4 of 16 windows are copies of others: 2 within 'a', 2 within 'b'; they count"
    assert any(text in str(warning.message) for warning in losses.caught)


def test_mapping_file_of_epochs(tmp_path: Path) -> None:
    """Classes are values of a column, in the order of the mapping; options come before keys."""
    side = ["L", "right hand", "rest", "right foot", "L"]
    for seed, name in enumerate(("s1", "s2")):
        people = [name] * 5
        part = make_epochs([1, 2, 1, 2, 1], {"a": 1, "b": 2}, seed=seed, person=people, side=side)
        part.save(tmp_path / f"{name}-epo.fif", fmt="double", verbose="error")
    file = tmp_path / "mapping.toml"
    classes = '[classes]\n"right*" = "right"\nL = "left"\n'
    file.write_text(f'class_from = "metadata:side"\nsubject = "person"\n{classes}')
    plain = read_windows(str(tmp_path / "*-epo.fif"), subject="person", label="side")
    for source in (file, tmp_path):
        windows = read_windows(source)
        assert windows.class_names == ("right", "left")
        assert windows.y.tolist() == [1, 0, 0, 1] * 2
        assert windows.subject.tolist() == ["s1"] * 4 + ["s2"] * 4
        kept = np.array(side * 2) != "rest"
        np.testing.assert_array_equal(windows.x, plain.x[kept])
    start = 'files = "s1-epo.fif"\nchannels = ["C4"]\nhighpass = 4.0\n'
    file.write_text(f'{start}class_from = "metadata:side"\nsubject = "person"\n{classes}')
    filtered = read_windows(file)
    expected = read_windows(
        tmp_path / "s1-epo.fif", subject="person", label="side", channels=["C4"], highpass=4.0
    )
    np.testing.assert_array_equal(filtered.x, expected.x[np.array(side) != "rest"])
    assert read_windows(file, channels=["C3"]).ch_names == ("C3",)
    with pytest.raises(ValueError, match=r"`preprocessing` must be None, as .*mapping\.toml"):
        read_windows(file, preprocessing=Preprocessing())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("seconds = 1.0", "key `seconds` is for recordings; epochs are windows already"),
        ("repeat = true", "key `repeat` is for recordings"),
        ("", "has no file of epochs; name some by the key `files`"),
    ],
)
def test_mistakes_in_a_mapping_file_of_epochs(tmp_path: Path, lines: str, message: str) -> None:
    file = tmp_path / "mapping.toml"
    file.write_text(f'{lines}\nclass_from = "metadata:side"\n[classes]\na = "a"\nb = "b"\n')
    with pytest.raises(DataError, match=message):
        read_windows(file)


def test_metadata_where_pandas_is_not_installed(epochs: mne.EpochsArray) -> None:
    rows = epochs.metadata.to_dict("records")
    epochs._metadata = rows
    assert read_windows(epochs).subject.tolist() == ["7", "7", "8", "8"]


def test_sleep_stages_come_in_their_own_order() -> None:
    names = {"REM": 1, "Sleep stage 4": 2, "N3": 3, "W": 4, "N1": 5, "Sleep stage ?": 6}
    windows = read_windows(make_epochs([1, 2, 3, 4, 5, 6, 1], names))
    assert windows.class_names == ("W", "N1", "N3", "R")
    assert windows.y.tolist() == [3, 2, 2, 0, 1, 3]
    chosen = read_windows(make_epochs([1, 2, 3, 4, 5, 6, 1], names), classes=["REM", "W"])
    assert chosen.class_names == ("R", "W")
    assert chosen.y.tolist() == [0, 1, 0]


def test_stage_4_can_be_kept() -> None:
    names = {"Sleep stage 4": 2, "N3": 3, "W": 4, "S4": 5}
    some = make_epochs([2, 3, 4, 5, 2], names)
    windows = read_windows(some, keep_stage_4=True)
    assert windows.class_names == ("W", "N3", "N4")
    assert windows.y.tolist() == [2, 1, 0, 2, 2]
    chosen = read_windows(some, keep_stage_4=True, classes=["S4", "W"])
    assert chosen.class_names == ("N4", "W")
    assert chosen.y.tolist() == [0, 1, 0, 0]


def test_classes_by_a_column_of_the_metadata() -> None:
    some = make_epochs([1, 2, 1, 2], {"a": 1, "b": 2}, subjects=list("stst"), hit=[3, 3, 10, 10])
    windows = read_windows(some, label="hit")
    assert windows.class_names == ("3", "10")
    assert windows.y.tolist() == [0, 0, 1, 1]
    with pytest.raises(DataError, match=r"`label` must be a column .* not 'hits' \(did you mean"):
        read_windows(some, label="hits")
    holes = make_epochs([1, 2], {"a": 1, "b": 2}, subjects=["s", "t"], hit=["x", None])
    with pytest.raises(DataError, match="column 'hit' of the metadata is empty for 1 epochs"):
        read_windows(holes, label="hit")


def test_classes_are_chosen_ordered_and_counted() -> None:
    some = make_epochs([1, 2, 3, 1, 2, 1], {"a": 1, "b": 2, "c": 3})
    assert read_windows(some, classes=["c", "a"]).y.tolist() == [1, 0, 1, 1]
    assert read_windows(some, min_windows=2).class_names == ("a", "b")
    with pytest.raises(DataError, match=r"two classes must have 3 windows or more, got 3 of 'a'"):
        read_windows(some, min_windows=3)
    with pytest.raises(ValueError, match=r"`classes` must be among \['a', 'b', 'c'\], got 'd'"):
        read_windows(some, classes=["a", "d"])
    with pytest.raises(TypeError, match="`classes` must be a list of names, got 'ab'"):
        read_windows(some, classes="ab")


def test_subjects_whose_epochs_are_all_rejected_are_named(
    losses: Losses,
) -> None:
    parts = [make_epochs([1, 2, 1, 2], {"a": 1, "b": 2}, seed=seed) for seed in range(3)]
    parts[2]._data *= 1000
    limit = 10 * float(np.ptp(parts[0]._data, axis=-1).max())
    windows = read_windows(parts, subject=["x", "y", "z"], reject=limit)
    assert windows.subjects == ["x", "y"]
    assert "4 of 12 windows exceed `reject` and are dropped: z (4 of 4)." in losses.messages
    assert any("1 of 3 subjects have no window left: z;" in text for text in losses.messages)


def test_only_good_eeg_channels() -> None:
    names = ("C3", "EOG", "C4", "Pz")
    types = ["eeg", "eog", "eeg", "eeg"]
    some = make_epochs([1, 2], {"a": 1, "b": 2}, ch_names=names, types=types)
    some.info["bads"] = ["Pz"]
    assert read_windows(some).ch_names == ("C3", "C4")
    assert read_windows(some, channels=["pz", "EOG"]).ch_names == ("pz", "EOG")
    only = make_epochs([1, 2], {"a": 1, "b": 2}, ch_names=("x", "y"), types="misc")
    with pytest.raises(DataError, match=r"none of the channels \['x', 'y'\] is EEG"):
        read_windows(only)


def test_bad_windows(losses: Losses) -> None:
    some = make_epochs([1, 2, 1, 2], {"a": 1, "b": 2}, seed=1)
    some._data[1, 2, 5] = np.nan
    some._data[2, 0] = 1e-6
    first, _, third = some.ch_names[:3]
    text = f"EpochsArray: 2 of 4 windows have NaN or a flat channel, {first} (1), {third} (1);"
    with pytest.raises(DataError, match=re.escape(text)):
        read_windows(some)
    windows = read_windows(some, on_bad="drop")
    assert windows.y.tolist() == [0, 1]
    named = [text for text in losses.messages if "NaN or a flat channel" in text]
    assert f"(2 of 4); channels are {first} (1), {third} (1)." in named[-1]
    with pytest.raises(ValueError, match="`on_bad` must be 'raise' or 'drop', got 'keep'"):
        read_windows(some, on_bad="keep")
    some._data[:] = 0
    with pytest.raises(DataError, match="all 4 windows have NaN or a flat channel"):
        read_windows(some, on_bad="drop")


def test_standardise_by_recording() -> None:
    some = make_epochs(
        [1, 2] * 4, {"a": 1, "b": 2}, subjects=["s"] * 4 + ["t"] * 4, recording=["1", "2"] * 4
    )
    some._data *= np.arange(1, 9)[:, None, None]
    windows = read_windows(some, standardise="recording")
    for subject in "st":
        for name in "12":
            here = windows[(windows.subject == subject) & (windows.recording == name)].x
            np.testing.assert_allclose(here.std((0, 2), correction=0), 1, rtol=1e-5)
    with pytest.raises(
        ValueError, match="`standardise` must be 'auto', 'window', 'recording' or None, got 'sub"
    ):
        read_windows(some, standardise="subject")


def test_volts_if_nothing_is_standardised(epochs: mne.EpochsArray) -> None:
    windows = read_windows(epochs, standardise=None)
    np.testing.assert_allclose(windows.x, epochs.get_data(), rtol=1e-6)


def test_the_epochs_of_the_user_are_left_alone(tmp_path: Path) -> None:
    raw = mne.io.RawArray(
        1e-5 * np.random.default_rng(0).standard_normal((1, 3000)),
        mne.create_info(["Cz"], 100.0, "eeg"),
        verbose="error",
    )
    raw._data[0, 1000:1100] = 1e-3
    events = np.array([[100, 0, 1], [500, 0, 2], [1000, 0, 1], [1500, 0, 1]])
    lazy = mne.Epochs(
        raw, events, tmin=0, tmax=0.99, baseline=None, reject={"eeg": 5e-4}, verbose="error"
    )
    raw._data[0, 1050] = 0.0
    windows = read_windows(lazy)
    assert windows.y.tolist() == [0, 1, 0]
    assert len(lazy.events) == 4


@pytest.mark.parametrize("ending", ["-epo.fif", "-epo.fif.gz", ".fif"])
def test_files(tmp_path: Path, epochs: mne.EpochsArray, ending: str) -> None:
    path = tmp_path / f"motor{ending}"
    epochs.set_montage("colin27_1020" if mne.__version__ >= "1.13" else "standard_1020")
    epochs.save(path, verbose="error") if "epo" in ending else _save_with_another_name(
        epochs, path
    )
    windows = read_windows(path, subject="subject")
    np.testing.assert_allclose(windows.x, read_windows(epochs).x, atol=1e-5)
    assert windows.positions is not None
    np.testing.assert_allclose(windows.positions, read_windows(epochs).positions, atol=1e-6)


def _save_with_another_name(epochs: mne.EpochsArray, path: Path) -> None:
    proper = path.with_name("x-epo.fif")
    epochs.save(proper, verbose="error")
    proper.rename(path)


@pytest.mark.parametrize("name", ["a-epo.fif", "a-epo.fif.gz"])
def test_damaged_files(tmp_path: Path, epochs: mne.EpochsArray, name: str) -> None:
    path = tmp_path / name
    epochs.save(path, verbose="error")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=rf"{name} as MNE epochs"):
        read_windows(path)
    path.write_bytes(b"hello")
    with pytest.raises(DataError, match=rf"{name} as MNE epochs"):
        read_windows(path)


def test_back_and_forth(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    positions = np.array([[-0.06, 0.0, 0.1], [np.nan] * 3, [0.06, 0.0, 0.1]])
    windows = Windows(
        rng.standard_normal((5, 3, 40)),
        [0, 1, 0, 1, 0],
        subject=["a", "a", "b", "b", "b"],
        recording=["1", "2", "1", "1", "1"],
        sfreq=100,
        ch_names=["C3", "X", "C4"],
        class_names=["one", "two", "three"],
        positions=positions,
    )
    epochs = windows.to_epochs()
    assert epochs.event_id == {"one": 1, "two": 2, "three": 3}
    epochs.save(tmp_path / "x-epo.fif", verbose="error")
    for source in (epochs, tmp_path / "x-epo.fif"):
        back = (
            read_windows(source, standardise=None, min_windows=1)
            if isinstance(source, Path)
            else epochs_to_windows([("a", source)], ReadOptions(standardise=None, min_windows=1))[
                0
            ]
        )
        np.testing.assert_allclose(back.x, windows.x, rtol=1e-5, atol=1e-7)
        assert back.y.tolist() == windows.y.tolist()
        assert back.subject.tolist() == windows.subject.tolist()
        assert back.recording.tolist() == windows.recording.tolist()
        assert back.class_names == ("one", "two")
        assert back.positions is not None
        np.testing.assert_allclose(back.positions, positions, atol=1e-6)


def test_to_epochs_without_pandas(
    epochs: mne.EpochsArray, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    windows = read_windows(epochs)
    windows.to_epochs()
    assert caplog.text == ""
    monkeypatch.setitem(sys.modules, "pandas", None)
    again = windows.to_epochs()
    assert "`metadata` of the epochs is a list of dicts" in caplog.text
    assert "pip install pandas" in caplog.text
    assert again.metadata[0] == {"subject": "7", "recording": "7"}
    assert read_windows(again).subject.tolist() == windows.subject.tolist()


def test_mne_is_silent_inside_and_not_changed(
    tmp_path: Path, epochs: mne.EpochsArray, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x-epo.fif"
    epochs.save(path, verbose="error")
    level = mne.utils.logger.level
    mne.set_log_level("info")
    try:
        capfd.readouterr()
        read_windows(path).to_epochs()
        captured = capfd.readouterr()
        assert captured.out == captured.err == ""
        assert mne.utils.logger.level == logging.INFO
    finally:
        mne.utils.logger.setLevel(level)


@pytest.mark.parametrize(("n_values", "are_classes"), [(60, False), (21, False), (20, True)])
def test_measurements_are_no_classes(n_values: int, are_classes: bool) -> None:
    """Such as reaction times; without a class for each value there is nothing to learn."""
    some = make_epochs([1, 2] * 30, {"a": 1, "b": 2}, subjects=["s"] * 60)
    some.metadata = some.metadata.assign(rt=[f"0.{i % n_values:03d}" for i in range(60)])
    noted = read_with_quality(some, ReadOptions(label="rt")).describe_values()
    assert (noted is None) == are_classes
    for options in ({"label": "rt"}, {"class_from": "metadata:rt"}):
        if are_classes:
            assert len(read_windows(some, **options).class_names) == n_values
            continue
        text = f"EpochsArray: the column 'rt' has {n_values} different values in 60 windows"
        with pytest.raises(DataError, match=text):
            read_windows(some, **options)
