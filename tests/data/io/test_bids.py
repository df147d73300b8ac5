"""A BIDS data set that mne-bids writes, against what mne-bids and MNE read from it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest

from cadda.data.io.read import read_windows
from cadda.exceptions import CaddaError, DataError

mne_bids = pytest.importorskip("mne_bids")
pytest.importorskip("pybv")

NAMES = ["C3", "Cz", "C4", "EOG"]
TEXTS = ["left", "right", "left", "right"]


def write_recording(root: Path, subject: str, session: str, task: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    info = mne.create_info(NAMES, 100.0, ["eeg"] * 3 + ["eog"])
    info["line_freq"] = 50
    raw = mne.io.RawArray(2e-5 * rng.standard_normal((4, 3000)), info, verbose="error")
    raw.set_annotations(mne.Annotations([2.0, 8.0, 14.0, 20.0], 3.0, TEXTS))
    if subject == "02":
        raw.info["bads"] = ["Cz"]
    mne_bids.write_raw_bids(
        raw,
        mne_bids.BIDSPath(subject=subject, session=session, task=task, datatype="eeg", root=root),
        format="BrainVision",
        allow_preload=True,
        overwrite=True,
        verbose="error",
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two subjects with two sessions of a motor task, and one of rest."""
    root = tmp_path_factory.mktemp("bids") / "study"
    seed = 0
    with _quiet():
        for subject in ("01", "02"):
            for session, task in (("a", "motor"), ("b", "motor"), ("a", "rest")):
                write_recording(root, subject, session, task, seed)
                seed += 1
    table = root / "participants.tsv"
    rows = [line.split("\t") for line in table.read_text(encoding="utf-8-sig").splitlines()]
    groups = {"participant_id": "group", "sub-01": "patient", "sub-02": "control"}
    table.write_text("\n".join("\t".join([*row, groups[row[0]]]) for row in rows))
    # Derivatives are data sets of their own.
    derivative = root / "derivatives" / "clean" / "sub-01" / "ses-a" / "eeg"
    derivative.mkdir(parents=True)
    (derivative / "sub-01_ses-a_task-motor_eeg.vhdr").touch()
    return root


def _quiet() -> Any:
    import warnings

    return warnings.catch_warnings(action="ignore")


@pytest.fixture
def root(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "study"))


def read_by_mne_bids(root: Path, subject: str, session: str, task: str) -> mne.io.BaseRaw:
    path = mne_bids.BIDSPath(
        subject=subject, session=session, task=task, datatype="eeg", root=root
    )
    with _quiet():
        return mne_bids.read_raw_bids(path, verbose="error")


def test_windows_are_those_of_mne_bids(root: Path) -> None:
    windows = read_windows(
        root, channels=["C3", "C4"], lowpass=None, highpass=None, standardise=None
    )
    assert windows.class_names == ("left", "right")
    assert windows.subjects == ["sub-01", "sub-02"]
    assert len(windows) == 24
    assert windows.recording[0] == "sub-01_ses-a_task-motor"
    raw = read_by_mne_bids(root, "02", "b", "motor")
    events, ids = mne.events_from_annotations(raw, regexp="left|right", verbose="error")
    epochs = mne.Epochs(
        raw, events, ids, tmin=0, tmax=2.99, baseline=None, picks=["C3", "C4"], verbose="error"
    )
    own = windows[windows.recording == "sub-02_ses-b_task-motor"]
    np.testing.assert_allclose(own.x, epochs.get_data(), rtol=1e-5, atol=1e-12)
    assert own.y.tolist() == [0, 1, 0, 1]


def test_bad_channels_of_the_table_are_not_used(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_by_mne_bids(root, "02", "a", "motor").info["bads"] == ["Cz"]
    assert read_windows(root).ch_names == ("C3", "C4")
    assert "bad in a recording are not used in any: Cz" in caplog.text
    assert read_windows(root, channels=["eog"]).ch_names == ("EOG",)


def test_some_recordings(root: Path) -> None:
    """Patterns of file names select tasks, sessions and subjects."""
    motor = read_windows(str(root / "sub-*" / "ses-*" / "eeg" / "*task-motor_eeg.vhdr"))
    assert set(motor.recording) == {
        f"sub-0{subject}_ses-{session}_task-motor" for subject in (1, 2) for session in "ab"
    }
    assert read_windows(root / "sub-01").subjects == ["sub-01"]
    file = next((root / "sub-01").rglob("*ses-b*_eeg.vhdr"))
    assert len(read_windows(file)) == 4


def test_mapping_file(root: Path) -> None:
    mapping = root / "code.toml"
    mapping.write_text(
        """
        files = "sub-*/ses-a/eeg/*_task-rest_eeg.vhdr"
        class_from = "participants:group"
        seconds = 5.0
        [classes]
        patient = "patient"
        control = "control"
        """
    )
    windows = read_windows(mapping)
    assert windows.subject.tolist() == ["sub-01"] * 6 + ["sub-02"] * 6
    assert windows.y.tolist() == [0] * 6 + [1] * 6
    # The mapping file is in the folder of the data set.
    assert len(read_windows(root)) == 12


def test_without_the_description(tmp_path: Path, write_edf: Callable[..., Path]) -> None:
    """Such a folder is no BIDS data set, and its tables are not read."""
    folder = tmp_path / "study" / "sub-01" / "eeg"
    noise = np.random.default_rng(0).standard_normal(1000)
    file = write_edf(folder / "sub-01_task-rest_eeg.edf", {"Cz": noise})
    with pytest.raises(DataError, match="pass a mapping file"):
        read_windows(tmp_path / "study")
    table = "onset\tduration\ttrial_type\n1\t2\tleft\n4\t2\tright\n"
    (folder / "sub-01_task-rest_events.tsv").write_text(table)
    missing = tmp_path / "study" / "dataset_description.json"
    for source in (tmp_path / "study", file):
        with pytest.raises(DataError, match=f"events.tsv files of a BIDS data set, add {missing}"):
            read_windows(source)
    missing.write_text('{"Name": "study", "BIDSVersion": "1.7.0"}')
    with _quiet():
        assert read_windows(tmp_path / "study").class_names == ("left", "right")


def test_changes_beside_the_signals_are_noticed(root: Path) -> None:
    arguments = {"channels": ["C3", "C4"], "standardise": None, "lowpass": None, "highpass": None}
    source = root / "sub-01"
    before = read_windows(source, **arguments)
    (events,) = (root / "sub-01" / "ses-b").rglob("*_events.tsv")
    lines = events.read_text(encoding="utf-8-sig").splitlines()
    events.write_text("\n".join(lines[:-1]) + "\n")
    assert len(read_windows(source, **arguments)) == len(before) - 1
    # Two names that are exchanged in the table exchange the signals.
    for channels in (root / "sub-01").rglob("*_channels.tsv"):
        text = channels.read_text(encoding="utf-8-sig")
        swapped = text.replace("C3", "C0").replace("C4", "C3").replace("C0", "C4")
        channels.write_text(swapped)
    fresh = _outcome(source, cache=False, **arguments)
    assert _outcome(source, **arguments) == fresh


def _outcome(source: Path, **arguments: Any) -> bytes | str:
    try:
        return read_windows(source, **arguments).x.numpy().tobytes()
    except DataError as error:
        return str(error)


def test_without_mne_bids(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mne_bids", None)
    with pytest.raises(CaddaError, match=r"BIDS data set needs .* pip install 'cadda\[bids\]'"):
        read_windows(root)


def test_empty_data_set(tmp_path: Path) -> None:
    (tmp_path / "dataset_description.json").write_text("{}")
    (tmp_path / "sub-01").mkdir()
    with pytest.raises(DataError, match="has no recording"):
        read_windows(tmp_path)


def test_comma_in_a_marker_matters_without_events(root: Path) -> None:
    expected = read_windows(root)
    (markers,) = root.glob("sub-02/ses-b/eeg/*.vmrk")
    text = markers.read_text(encoding="utf-8")
    # Onsets of the events are not those of the markers.
    markers.write_text(text.replace(",S  2,", ",S  2, 5, x,"), encoding="utf-8")
    assert markers.read_text(encoding="utf-8") != text
    np.testing.assert_array_equal(read_windows(root, cache=False).x, expected.x)
    (events,) = root.glob("sub-02/ses-b/eeg/*_events.tsv")
    events.unlink()
    with pytest.raises(DataError, match=r"\.vmrk, line \d+: .*5, x.* written as \\1"):
        read_windows(root, cache=False)


def test_tables_that_are_not_used_are_named(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without its description, a folder is no BIDS data set, and the tables are left out."""
    read_windows(root)
    assert "beside the recordings" not in caplog.text
    (root / "dataset_description.json").unlink()
    text = (
        "Files events.tsv and channels.tsv beside the recordings are not used, as this is no "
        f"BIDS data set without {root / 'dataset_description.json'}; add it to read them."
    )
    mapping = root / "mapping.toml"
    mapping.write_text(
        'files = "sub-*/**/*.vhdr"\nseconds = 1.0\n[classes]\n"*1" = "left"\n"*2" = "right"\n'
    )
    by_group = {"class_from": "participants:group", "window_seconds": 2.0}
    for source, options in (
        (root / "sub-*" / "**" / "*.vhdr", {"window_seconds": 1.0}),
        (root / "sub-*" / "**" / "*.vhdr", by_group),
        (mapping, {}),
    ):
        caplog.clear()
        read_windows(source, **options)
        assert text in caplog.messages
    for table in root.rglob("*_events.tsv"):
        table.unlink()
    caplog.clear()
    read_windows(mapping)
    assert "Files channels.tsv beside the recordings are not used" in caplog.text
