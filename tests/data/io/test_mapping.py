"""Mapping files: where classes come from, patterns, channels, and preprocessing by key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from losses import Losses

from cadda.data.io.mapping import match_class
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]

EVENTS = [(2.0, 4.0, "left/fast"), (8.0, 4.0, "right/slow"), (14.0, 4.0, "left/slow")]


@pytest.fixture
def folder(tmp_path: Path, write_edf: WriteEdf) -> Path:
    """Two subjects, at rest and with a task, of twenty seconds each."""
    rng = np.random.default_rng(0)
    for subject in ("s1", "s2"):
        for task in ("rest", "task"):
            names = ("C3", "C4", "EOG left", "M1", "M2")
            signals = {label: 20 * rng.standard_normal(2000) for label in names}
            path = tmp_path / "data" / f"{subject}_{task}.edf"
            write_edf(path, signals, annotations=EVENTS)
    return tmp_path / "data"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "mapping.toml"
    path.write_text("\n".join(["subject = '^(s\\d)'", "seconds = 2.0", *lines]))
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left/fast", "exact"),
        ("left/slow", "left"),
        ("left/", "left"),
        ("a left/", None),
        ("go.1", "dotted"),
        ("go11", None),
        ("Sleep stage ?", "unknown"),
        ("Sleep stage W", None),
        ("x1y2z", "xyz"),
        ("x1y2", None),
    ],
)
def test_patterns(text: str, expected: str | None) -> None:
    """Only the star is special, and a text itself comes before any pattern."""
    classes = {
        "left/*": "left",
        "left/fast": "exact",
        "go.1": "dotted",
        "Sleep stage ?": "unknown",
    }
    assert match_class(text, {**classes, "x*y*z": "xyz"}) == expected


def test_classes_by_patterns_of_annotations(folder: Path) -> None:
    windows = read_windows(write(folder, "[classes]", '"left/*" = "l"', '"right/*" = "r"'))
    assert windows.class_names == ("l", "r")
    assert windows.y.tolist() == [0, 1, 0] * 4
    by_speed = write(folder, "[classes]", '"*/fast" = "fast"', '"*/slow" = "slow"')
    assert read_windows(by_speed).y.tolist() == [0, 1, 1] * 4


def test_classes_by_file_names(folder: Path) -> None:
    classes = ("[classes]", '"*_rest.edf" = "rest"', '"*_task.edf" = "task"')
    windows = read_windows(write(folder, 'class_from = "file"', *classes))
    # Ten windows fill a recording.
    assert windows.subject.tolist() == ["s1"] * 20 + ["s2"] * 20
    assert windows.y.tolist() == ([0] * 10 + [1] * 10) * 2
    shifted = write(folder, 'class_from = "file"', "offset = 5.0", *classes)
    assert windows.x.shape[0] - len(read_windows(shifted)) == 4 * 3


def test_classes_by_file_names_within_annotations(folder: Path) -> None:
    classes = ("[classes]", '"*_rest.edf" = "rest"', '"*_task.edf" = "task"')
    within = write(folder, 'class_from = "file"', 'within = ["left/*"]', *classes)
    windows = read_windows(within, lowpass=None, standardise=None)
    assert windows.y.tolist() == [0, 0, 1, 1] * 2
    import mne

    raw = mne.io.read_raw_edf(folder / "s1_task.edf", verbose="error")
    expected = raw.get_data(["C3", "C4", "M1", "M2"], start=1400, stop=1600)
    np.testing.assert_allclose(windows.x[3], expected, rtol=1e-6)
    filled = write(folder, 'class_from = "file"', 'within = "left/*"', "repeat = true", *classes)
    assert read_windows(filled).y.tolist() == [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4


def test_files_without_a_class_are_left_out(folder: Path, losses: Losses) -> None:
    classes = ("[classes]", '"s1_rest.edf" = "rest"', '"s1_task.edf" = "task"')
    windows = read_windows(write(folder, 'class_from = "file"', *classes))
    assert windows.subjects == ["s1"]
    message = (
        "2 of 4 recordings have no window of a class and are left out: s2_rest.edf, s2_task.edf."
    )
    assert message in losses.text
    nothing = write(folder, 'class_from = "file"', "[classes]", 'a = "a"', 'b = "b"')
    with pytest.raises(DataError, match=r"no recording has one of the classes \['a', 'b'\]"):
        read_windows(nothing)


@pytest.mark.parametrize("prefix", ["", "sub-"])
def test_classes_by_a_table_of_participants(folder: Path, prefix: str) -> None:
    table = f"participant_id\tage\tgroup\n{prefix}s1\t30\tpatient\n{prefix}s2\t31\tcontrol\n"
    (folder / "participants.tsv").write_text(table)
    classes = ("[classes]", 'control = "healthy"', 'patient = "ill"')
    path = write(folder, 'class_from = "participants:group"', *classes)
    windows = read_windows(path)
    assert windows.class_names == ("healthy", "ill")
    assert windows.y.tolist() == [1] * 20 + [0] * 20
    elsewhere = write(
        folder,
        'class_from = "participants:group"',
        'participants = "other.tsv"',
        *classes,
    )
    with pytest.raises(DataError, match=r"cannot read .*other.tsv: No such file"):
        read_windows(elsewhere)
    unknown = write(folder, 'class_from = "participants:groups"', *classes)
    with pytest.raises(DataError, match=r"no column 'groups' \(did you mean `group`\?\)"):
        read_windows(unknown)
    (folder / "participants.tsv").write_text(table.replace("s2", "s3"))
    with pytest.raises(DataError, match=r"participants.tsv has no participant 's2'"):
        read_windows(write(folder, 'class_from = "participants:group"', *classes))


def test_preprocessing_by_keys_and_by_arguments(folder: Path) -> None:
    """An argument comes before the key of the file."""
    classes = ("[classes]", '"left/*" = "l"', '"right/*" = "r"')
    keys = (
        "highpass = 2.0",
        "lowpass = 25.0",
        "notch = [40.0]",
        'reference = ["M1", "M2"]',
        "baseline = [-0.5, 0.0]",
        "offset = 0.5",
        "reject = 250e-6",
        "sfreq = 80.0",
        'channels = ["C3", "C4"]',
    )
    arguments = {
        "highpass": 2.0,
        "lowpass": 25.0,
        "notch": 40.0,
        "reference": ["M1", "M2"],
        "baseline_seconds": (-0.5, 0.0),
        "offset": 0.5,
        "reject": 250e-6,
        "sfreq": 80.0,
        "channels": ["C3", "C4"],
    }
    by_keys = read_windows(write(folder, *keys, *classes), standardise=None)
    by_arguments = read_windows(write(folder, *classes), standardise=None, **arguments)
    np.testing.assert_array_equal(by_keys.x, by_arguments.x)
    assert by_keys.sfreq == 80
    resampled = (key.replace("sfreq", "resample") for key in keys)
    by_other_key = read_windows(write(folder, *resampled, *classes), standardise=None)
    np.testing.assert_array_equal(by_other_key.x, by_keys.x)
    both = read_windows(write(folder, *keys, *classes), standardise=None, reference=None)
    del arguments["reference"]
    alone = read_windows(write(folder, *classes), standardise=None, **arguments)
    np.testing.assert_array_equal(both.x, alone.x)
    assert not np.array_equal(both.x, by_keys.x)
    off = write(folder, "lowpass = false", "reference = false", *classes)
    np.testing.assert_array_equal(
        read_windows(off, standardise=None).x,
        read_windows(write(folder, *classes), standardise=None, lowpass=None).x,
    )


def test_types_of_channels(folder: Path) -> None:
    classes = ("[classes]", '"left/*" = "l"', '"right/*" = "r"')
    assert read_windows(write(folder, 'channels = "eog"', *classes)).ch_names == ("EOG left",)
    both = write(folder, 'channels = ["eog", "eeg"]', *classes)
    assert read_windows(both).ch_names == ("EOG left", "C3", "C4", "M1", "M2")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('class_from = "colour"', "`class_from` must be 'annotations', 'file', 'participants:C"),
        ("highpass = -1", "mapping.toml: key `highpass` must be above 0, got -1"),
        ("notch = []", "mapping.toml: key `notch` must have at least one frequency"),
        ("reject = 100.0", "mapping.toml: key `reject` must be in volts, such as 150e-6"),
        ("baseline = [0.0]", "mapping.toml: key `baseline` must be two numbers"),
        ("within = []", "mapping.toml: key `within`"),
        ("high_pass = 4", r"`high_pass` is not a known key \(did you mean `highpass`\?\)"),
    ],
)
def test_refuses(folder: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_windows(write(folder, line, "[classes]", '"left/*" = "l"', '"right/*" = "r"'))


def test_subjects_without_a_pattern(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(folder, "[classes]", '"left/*" = "l"', '"right/*" = "r"')
    path.write_text(path.read_text().replace("subject = '^(s\\d)'\n", ""))
    assert read_windows(path).subjects == ["s1_rest", "s1_task", "s2_rest", "s2_task"]
    assert "each of the 4 recordings counts as a subject" in caplog.text
    caplog.clear()
    assert read_windows(path, subject="^(s.)").subjects == ["s1", "s2"]
    assert not caplog.text


def test_no_recordings(tmp_path: Path) -> None:
    path = write(tmp_path, "[classes]", 'a = "a"')
    with pytest.raises(DataError, match=r"has no recording; name some by the key `files` of"):
        read_windows(path)


def test_participants_separated_by_commas(folder: Path) -> None:
    (folder / "participants.tsv").write_text("participant_id,group\nsub-01,a\nsub-02,b\n")
    path = write(folder, 'class_from = "participants:group"', "[classes]", 'a = "a"')
    with pytest.raises(DataError, match=r"no column 'participant_id', as .* by tabs; replace the"):
        read_windows(path)
