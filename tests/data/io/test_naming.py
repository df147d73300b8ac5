"""Names of recordings and subjects, where names of files are not enough."""

from __future__ import annotations

import hashlib
from pathlib import Path

import mne
import numpy as np
import pytest

from cadda.data.io.read import read_windows
from cadda.exceptions import DataError


def write(path: Path, *, seconds: float = 20.0, sfreq: float = 100.0, **options: object) -> None:
    """Write a recording of noise, with events of two classes."""
    rng = np.random.default_rng(len(str(path)))
    info = mne.create_info(["C3", "C4"], sfreq, "eeg")
    raw = mne.io.RawArray(1e-5 * rng.normal(size=(2, int(sfreq * seconds))), info, verbose="error")
    raw.set_annotations(mne.Annotations([1.0, 5.0, 9.0, 13.0], 2.0, ["a", "b"] * 2))
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".fif":
        raw.save(path, verbose="error", **options)
    else:
        mne.export.export_raw(path, raw, verbose="error", **options)


def test_folders_are_subjects_if_their_files_have_the_same_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in ("S01/one", "S01/two", "S02/one"):
        write(tmp_path / folder / "rest.edf")
    windows = read_windows(tmp_path)
    assert windows.subjects == ["S01", "S02"]
    assert list(dict.fromkeys(windows.recording)) == [
        "S01/one/rest",
        "S01/two/rest",
        "S02/one/rest",
    ]
    assert "folders are subjects: S01, S02" in caplog.text
    caplog.clear()
    assert read_windows(tmp_path, subject="(one|two)/").subjects == ["one", "two"]
    assert not caplog.messages


def test_messages_tell_files_of_the_same_name_apart(tmp_path: Path) -> None:
    write(tmp_path / "S01" / "rest.edf")
    write(tmp_path / "S02" / "rest.edf", sfreq=200.0)
    with pytest.raises(DataError, match=r"S01/rest.edf has 100 Hz, .*S02/rest.edf has 200 Hz"):
        read_windows(tmp_path)


def test_files_with_different_names_are_named_without_folders(tmp_path: Path) -> None:
    for folder, name in zip("AB", ("anna", "boris"), strict=True):
        write(tmp_path / folder / f"{name}.edf")
    windows = read_windows(tmp_path)
    assert windows.subjects == ["anna", "boris"]
    assert list(dict.fromkeys(windows.recording)) == ["anna", "boris"]


def test_a_recording_in_two_formats_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "anna.edf")
    write(tmp_path / "anna.fif")
    with pytest.raises(DataError, match=r"anna\.edf and anna\.fif .*would count twice.*'\*\.fif'"):
        read_windows(tmp_path)
    assert read_windows(str(tmp_path / "*.edf")).subjects == ["anna"]


def test_a_recording_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "anna.edf"
    write(path)
    with pytest.raises(DataError, match="is given twice"):
        read_windows([path, tmp_path / "." / "anna.edf"])


def test_a_link_to_a_recording_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pybv")
    write(tmp_path / "anna.vhdr")
    (tmp_path / "link.vhdr").symlink_to(tmp_path / "anna.vhdr")
    with pytest.raises(
        DataError, match=r"/anna\.vhdr and .*/link\.vhdr are the same file, .* count twice; list"
    ):
        read_windows(str(tmp_path / "*.vhdr"))


def annex(path: Path) -> None:
    """Replace a file by a link to its content, named by a checksum, as git-annex does."""
    key = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    target = path.parents[1] / ".git" / "annex" / key / f"MD5E-{key}{path.suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    path.symlink_to(target)


def test_files_in_git_annex_keep_their_names(tmp_path: Path) -> None:
    for folder in ("S01", "S02"):
        write(tmp_path / folder / "rest.edf")
    # Files of the same length have the same noise.
    write(tmp_path / "S02" / "rest.edf", seconds=21.0, overwrite=True)
    for folder in ("S01", "S02"):
        annex(tmp_path / folder / "rest.edf")
    windows = read_windows(sorted(tmp_path.glob("S0*/rest.edf")))
    assert windows.subjects == ["S01", "S02"]
    assert list(dict.fromkeys(windows.recording)) == ["S01/rest", "S02/rest"]


def test_a_recording_in_two_formats_in_git_annex_is_refused(tmp_path: Path) -> None:
    for name in ("anna.edf", "anna.fif"):
        write(tmp_path / "S01" / name)
        annex(tmp_path / "S01" / name)
    with pytest.raises(DataError, match=r"anna\.edf and anna\.fif .*would count twice"):
        read_windows(sorted((tmp_path / "S01").iterdir()))


def test_copies_in_git_annex_are_refused(tmp_path: Path) -> None:
    for folder in ("S01", "S02"):
        path = tmp_path / folder / f"{folder}.edf"
        write(path)
        annex(path)
    targets = {path.resolve() for path in tmp_path.glob("S0*/*.edf")}
    assert len(targets) == 1
    with pytest.raises(DataError, match=r"S01/S01\.edf and .*S02/S02\.edf are the same file"):
        read_windows(sorted(tmp_path.glob("S0*/*.edf")))


def test_the_same_header_of_different_signals(tmp_path: Path) -> None:
    """Headers of BrainVision name the file beside them, so that two can have the same content."""
    pytest.importorskip("pybv")
    for seconds, folder in ((20.0, "S01"), (21.0, "S02")):
        write(tmp_path / folder / "rest.vhdr", seconds=seconds)
        annex(tmp_path / folder / "rest.vhdr")
    assert len({path.resolve() for path in tmp_path.glob("S0*/*.vhdr")}) == 1
    windows = read_windows(sorted(tmp_path.glob("S0*/*.vhdr")))
    assert windows.subjects == ["S01", "S02"]


def test_parts_of_a_recording_are_no_recordings(tmp_path: Path) -> None:
    write(tmp_path / "anna_raw.fif", seconds=4000, split_size="2MB", buffer_size_sec=100)
    assert len(list(tmp_path.glob("*.fif"))) > 1
    windows = read_windows(tmp_path)
    assert list(dict.fromkeys(windows.recording)) == ["anna_raw"]
    assert len(windows) == 4


def opened(*paths: Path) -> list[mne.io.BaseRaw]:
    return [mne.io.read_raw(path, preload=True, verbose="error") for path in paths]


def test_raws_are_named_as_their_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Subjects and recordings of objects are those of the same paths, and so are the notes."""
    one_each = [tmp_path / folder / "rest_raw.fif" for folder in ("S1", "S2", "S3")]
    runs = [tmp_path / folder / f"run{run}_raw.fif" for folder in ("S1", "S2") for run in (1, 2)]
    for path in (*one_each, *runs):
        write(path)
    for paths in (one_each, runs, runs[:2], one_each[:1]):
        truth = read_windows(paths)
        notes = [text.partition(": ")[2] for text in caplog.messages]
        caplog.clear()
        windows = read_windows(opened(*paths))
        assert windows.subject.tolist() == truth.subject.tolist()
        assert windows.recording.tolist() == truth.recording.tolist()
        said = [text.partition(": ")[2] for text in caplog.messages]
        assert [text.partition("; if")[0] for text in said] == [
            text.partition("; if")[0] for text in notes
        ]
        caplog.clear()
    assert read_windows(opened(*one_each), subject="S(.)/").subjects == ["1", "2", "3"]


def test_a_raw_in_two_formats_is_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "anna.edf", tmp_path / "anna.fif"]
    for path in paths:
        write(path)
    with pytest.raises(DataError, match=r"anna\.edf and anna\.fif .*would count twice"):
        read_windows(opened(*paths))


def test_parts_of_a_file_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are one subject, unless they say that they are several."""
    for name in ("anna", "boris"):
        write(tmp_path / f"{name}_raw.fif")
    anna, boris = opened(tmp_path / "anna_raw.fif", tmp_path / "boris_raw.fif")
    parts = [anna.copy().crop(0, 8), anna.copy().crop(8, None), boris]
    windows = read_windows(parts)
    assert windows.subject.tolist() == ["anna_raw"] * 4 + ["boris_raw"] * 4
    assert "each of the 2 files of 3 recordings counts as a subject" in caplog.text
    for part, name in zip(parts, ("clara", "dora", "emil"), strict=True):
        part.info["subject_info"] = {"his_id": name}
    # The file of the third tells its subject.
    assert read_windows(parts).subjects == ["clara", "dora", "boris_raw"]


def test_raws_without_files_beside_those_of_files(tmp_path: Path) -> None:
    for folder in ("S1", "S2"):
        write(tmp_path / folder / "rest_raw.fif")
    raws = opened(*sorted(tmp_path.glob("S*/*.fif")))
    made = mne.io.RawArray(raws[0].get_data(), raws[0].info, verbose="error")
    made.set_annotations(raws[0].annotations)
    assert read_windows([made, *raws]).subjects == ["raw-1", "S1", "S2"]
