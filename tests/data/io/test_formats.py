"""Recordings in several formats against MNE's own readers and `mne.Epochs`."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

import edfio
import mne
import numpy as np
import pytest
import scipy.io
from losses import Losses

from cadda.data.io.cache import cache_entries
from cadda.data.io.raw_files import find_recordings
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

Export = Callable[..., Path]

ONSETS = [2.0, 10.0, 20.0, 30.0, 41.0]
TEXTS = ["left", "right", "left", "right", "left"]


def make_raw(seed: int = 0, *, bads: tuple[str, ...] = ()) -> mne.io.RawArray:
    """Sixty seconds of three EEG channels and one of the eyes."""
    rng = np.random.default_rng(seed)
    info = mne.create_info(["C3", "Cz", "C4", "VEOG"], 100.0, ["eeg"] * 3 + ["eog"])
    raw = mne.io.RawArray(2e-5 * rng.standard_normal((4, 6000)), info, verbose="error")
    raw.info["bads"] = list(bads)
    raw.set_annotations(mne.Annotations(ONSETS, 3.0, TEXTS))
    return raw


@pytest.fixture
def export() -> Export:
    """Write a recording in the format of its suffix."""

    def write(path: Path, raw: mne.io.BaseRaw) -> Path:
        if path.name.endswith((".fif", ".fif.gz")):
            raw.save(path, overwrite=True, verbose="error")
            return path
        if path.suffix == ".vhdr":
            pytest.importorskip("pybv")
        if path.suffix == ".set":
            pytest.importorskip("eeglabio")
        mne.export.export_raw(path, raw, overwrite=True, verbose="error")
        return path

    return write


def expected(raw: mne.io.BaseRaw, picks: list[str], **settings: object) -> np.ndarray:
    """Windows of two seconds from every annotation, by MNE."""
    events, ids = mne.events_from_annotations(
        raw, regexp="(Comment/)?(left|right)", verbose="error"
    )
    epochs = mne.Epochs(
        raw,
        events,
        ids,
        tmin=0.0,
        tmax=2.0 - 1 / raw.info["sfreq"],
        picks=picks,
        preload=True,
        **{"baseline": None, **settings},
        verbose="error",
    )
    return epochs.get_data()


FORMATS = ["a.vhdr", "a.set", "a.edf", "a.bdf", "a_raw.fif", "a_raw.fif.gz"]


@pytest.mark.parametrize("name", FORMATS)
def test_windows_are_those_of_mne(tmp_path: Path, export: Export, name: str) -> None:
    path = export(tmp_path / name, make_raw())
    windows = read_windows(path, window_seconds=2.0, lowpass=None, highpass=None, standardise=None)
    raw = mne.io.read_raw(path, verbose="error")
    np.testing.assert_allclose(windows.x, expected(raw, ["C3", "Cz", "C4"]), rtol=1e-5, atol=1e-12)
    # BrainVision has the text as a comment.
    assert [n.removeprefix("Comment/") for n in windows.class_names] == ["left", "right"]
    assert windows.y.tolist() == [0, 1, 0, 1, 0]
    assert windows.ch_names == ("C3", "Cz", "C4")
    # From the cache, the same.
    again = read_windows(path, window_seconds=2.0, lowpass=None, highpass=None, standardise=None)
    np.testing.assert_array_equal(again.x, windows.x)


@pytest.mark.parametrize("name", FORMATS)
def test_filtered_windows_are_those_of_mne(tmp_path: Path, export: Export, name: str) -> None:
    path = export(tmp_path / name, make_raw())
    windows = read_windows(
        path, window_seconds=2.0, highpass=4.0, notch=40.0, lowpass=30.0, standardise=None
    )
    raw = mne.io.read_raw(path, preload=True, verbose="error")
    raw.set_channel_types({"VEOG": "eeg"}, verbose="error")
    raw.notch_filter(40.0, verbose="error").filter(4.0, 30.0, h_trans_bandwidth=7, verbose="error")
    np.testing.assert_allclose(windows.x, expected(raw, ["C3", "Cz", "C4"]), rtol=1e-4, atol=1e-10)


def test_recording_that_does_not_begin_with_its_first_sample(tmp_path: Path) -> None:
    """In a FIF file, times may count from before the first sample that was kept."""
    raw = make_raw()
    raw.set_meas_date(0)
    raw.crop(tmin=6.0).save(tmp_path / "a_raw.fif", verbose="error")
    windows = read_windows(
        tmp_path / "a_raw.fif", window_seconds=2.0, lowpass=None, highpass=None, standardise=None
    )
    assert windows.y.tolist() == [1, 0, 1, 0]
    reread = mne.io.read_raw(tmp_path / "a_raw.fif", verbose="error")
    assert reread.first_time == 6.0
    picks = ["C3", "Cz", "C4"]
    np.testing.assert_allclose(windows.x, expected(reread, picks), rtol=1e-5, atol=1e-12)
    in_memory = read_windows(
        reread, window_seconds=2.0, lowpass=None, highpass=None, standardise=None
    )
    np.testing.assert_array_equal(in_memory.x, windows.x)


@pytest.mark.parametrize(
    ("durations", "reason"),
    [
        (0.0, "'left' has 0 s; set it to the length of a window. Annotations are 'left' (3 of 0"),
        (0.05, "'left' has 0.05 s; set it to the length of a window. "),
        (
            [3.0, 0.1, 3.0, 0.1, 3.0],
            "'right' has 0.1 s; set it to the length of a window, or select others with "
            "`classes`. Annotations are 'left' (3 of 3 s), 'right' (2 of 0.1 s).",
        ),
    ],
)
def test_markers_are_not_windows(durations: float | list[float], reason: str) -> None:
    raw = make_raw()
    raw.set_annotations(mne.Annotations(ONSETS, durations, TEXTS))
    message = f"RawArray: `window_seconds` is missing, as {reason}"
    with pytest.raises(DataError, match=re.escape(message)):
        read_windows(raw)
    assert read_windows(raw, window_seconds=1.0).n_times == 100
    raw.set_annotations(mne.Annotations(ONSETS, 0.2, TEXTS))
    assert read_windows(raw).n_times == 20


def test_unknown_classes_are_compared_with_all_annotations() -> None:
    """Also if some of those selected are there."""
    names = r"\['left', 'right'\]"
    for classes in (["left", "rigth"], ["rigth"]):
        with pytest.raises(
            ValueError, match=rf"`classes` must be among {names}, got 'rigth' \(did"
        ):
            read_windows(make_raw(), classes=classes)
    with pytest.raises(DataError, match="at least two classes must have windows"):
        read_windows(make_raw(), classes=[])


def test_raw_in_memory(cache_folder: Path) -> None:
    raw = make_raw()
    windows = read_windows(raw, lowpass=None, highpass=None, standardise=None)
    assert windows.x.shape == (5, 3, 300)
    np.testing.assert_allclose(windows.x[:, :, :200], expected(raw, ["C3", "Cz", "C4"]), rtol=1e-6)
    # It may change without notice, so it is never cached.
    raw._data *= 2
    twice = read_windows(raw, lowpass=None, highpass=None, standardise=None)
    np.testing.assert_allclose(twice.x, 2 * windows.x, rtol=1e-6)
    assert not cache_entries()
    assert not cache_folder.exists()


def test_several_raws_are_several_subjects(caplog: pytest.LogCaptureFixture) -> None:
    raws = [make_raw(seed) for seed in range(3)]
    windows = read_windows(raws)
    assert windows.subjects == ["raw-1", "raw-2", "raw-3"]
    assert "each of the 3 recordings counts as a subject" in caplog.text


def test_a_short_annotation_is_pointed_out(caplog: pytest.LogCaptureFixture) -> None:
    """As at the end of a recording: it makes all windows short."""
    raw = make_raw()
    raw.annotations.duration[:] = 1.0
    assert read_windows(raw).n_times == 100
    assert not caplog.messages
    raw.annotations.duration[-1] = 0.5
    assert read_windows(raw).n_times == 50
    assert "windows have 0.5 s, as long as the shortest annotation" in caplog.text
    assert "half of them have 1 s or more: set `window_seconds`" in caplog.text
    caplog.clear()
    assert read_windows(raw, window_seconds=1.0).n_times == 100
    assert not caplog.messages


def test_raws_name_their_subjects(caplog: pytest.LogCaptureFixture) -> None:
    raws = [make_raw(seed) for seed in range(3)]
    for raw, name in zip(raws, ("anna", "anna", "b.1"), strict=True):
        raw.info["subject_info"] = {"his_id": name}
    windows = read_windows(raws)
    assert windows.subject.tolist() == ["anna"] * 10 + ["b.1"] * 5
    assert windows.recording.tolist() == ["raw-1"] * 5 + ["raw-2"] * 5 + ["raw-3"] * 5
    assert not caplog.messages
    assert read_windows(raws, subject=r"^(\w)").subjects == ["a", "b"]
    # EDF+ has X where nobody is named.
    raws[2].info["subject_info"] = {"his_id": "X"}
    assert read_windows(raws).subjects == ["anna", "raw-3"]
    assert "each of the 1 recordings that do not name one counts as a subject" in caplog.text
    assert "a list with the subject of each recording" in caplog.text


def test_subjects_by_a_list(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = ["anna", "boris", "anna"]
    expected = ["anna"] * 5 + ["boris"] * 5 + ["anna"] * 5
    files = sorted(folder.iterdir())
    opened = [mne.io.read_raw_fif(file, verbose="error") for file in files]
    made = [make_raw(seed) for seed in range(3)]
    made[0].info["subject_info"] = {"his_id": "clara"}
    for source in (files, str(folder / "*.fif"), opened, made):
        windows = read_windows(source, subject=names)
        assert windows.subject.tolist() == expected
        assert len(set(windows.recording)) == 3
    assert not caplog.messages
    assert read_windows(made, subject=np.array([7, 8, 7])).subjects == ["7", "8"]
    with pytest.raises(ValueError, match="one name per source, 3 for 3 recordings, got 2"):
        read_windows(made, subject=names[:2])
    with pytest.raises(ValueError, match="one name per source, 3 for 3 files, got 1"):
        read_windows(files, subject=["anna"])
    with pytest.raises(ValueError, match=r"`subject` must be a regular expression for .* a list"):
        read_windows(folder, subject=names)
    with pytest.raises(ValueError, match="`subject` must be None for arrays and windows"):
        read_windows(read_windows(made), subject=names)


@pytest.fixture
def folder(tmp_path: Path, export: Export) -> Path:
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("s1-a", "s1-b", "s2-a")):
        export(tmp_path / "data" / f"{name}_raw.fif", make_raw(seed))
    return tmp_path / "data"


def test_folders_patterns_and_lists(folder: Path) -> None:
    sources = [
        folder,
        str(folder / "*.fif"),
        str(folder / "**" / "*.fif"),
        sorted(folder.iterdir()),
        [str(path) for path in sorted(folder.iterdir())],
        (folder / "s1-a_raw.fif", str(folder / "s[12]-[b]*"), folder / "s2-a_raw.fif"),
    ]
    for source in sources:
        windows = read_windows(source, subject="^(s[0-9])")
        assert windows.subjects == ["s1", "s2"]
        assert list(dict.fromkeys(windows.recording)) == ["s1-a_raw", "s1-b_raw", "s2-a_raw"]
        assert len(windows) == 15
    with pytest.raises(DataError, match=r"no file matches .*x\*\.fif"):
        read_windows(str(folder / "x*.fif"))
    with pytest.raises(DataError, match=r"`subject` must match .* '\(t\)' does not match s1-a"):
        read_windows(folder, subject="(t)")


def test_recordings_of_a_folder(tmp_path: Path, export: Export) -> None:
    """Folders that are recordings are not searched, and neither are epochs and hidden files."""
    for name in ("b.mff/signal1.edf", "sub/c.EDF", ".hidden.edf", "d-epo.fif", "e.txt", "f.eeg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    export(tmp_path / "a.vhdr", make_raw())
    names = [path.relative_to(tmp_path).as_posix() for path in find_recordings(tmp_path)]
    assert names == ["a.vhdr", "b.mff", "sub/c.EDF"]


def test_recordings_and_epochs_do_not_mix(folder: Path) -> None:
    epochs = mne.make_fixed_length_epochs(make_raw(), preload=True, verbose="error")
    epochs.save(folder / "x-epo.fif", verbose="error")
    with pytest.raises(DataError, match=r"x-epo.fif has epochs and s1-a_raw.fif does not"):
        read_windows(sorted(folder.iterdir()))


def test_folder_of_epochs(tmp_path: Path) -> None:
    """If a folder has recordings, these are read, and epochs are not."""
    raws = [make_raw(seed) for seed in range(2)]
    for i, raw in enumerate(raws):
        (tmp_path / f"s{i}").mkdir()
        events, ids = mne.events_from_annotations(raw, verbose="error")
        epochs = mne.Epochs(raw, events, ids, tmin=0, tmax=1, baseline=None, preload=True)
        epochs.save(tmp_path / f"s{i}" / "task-epo.fif", verbose="error")
    names = ["anna", "boris"]
    windows = read_windows([tmp_path / "s0", tmp_path / "s1"], subject=names)
    assert windows.subjects == names
    assert len(read_windows(tmp_path)) == len(windows) == 10
    raws[0].save(tmp_path / "a_raw.fif", verbose="error")
    assert len(read_windows(tmp_path)) == 5
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty has no recording and no file of epochs"):
        read_windows([tmp_path / "s0", tmp_path / "empty"])


@pytest.mark.parametrize("name", ["a.set", "B.SET"])
def test_epochs_of_eeglab(tmp_path: Path, name: str) -> None:
    pytest.importorskip("eeglabio")
    raw = make_raw()
    events, ids = mne.events_from_annotations(raw, verbose="error")
    epochs = mne.Epochs(raw, events, ids, tmin=0, tmax=1, baseline=None, preload=True)
    epochs.set_annotations(None)
    mne.export.export_epochs(tmp_path / "a.set", epochs, verbose="error")
    reread = mne.read_epochs_eeglab(tmp_path / "a.set", verbose="error")
    path = (tmp_path / "a.set").rename(tmp_path / name)
    windows = read_windows(path, channels=["C3", "C4"], standardise=None)
    np.testing.assert_allclose(windows.x, reread.get_data(["C3", "C4"]), rtol=1e-6)
    assert windows.y.tolist() == [0, 1, 0, 1, 0]


def test_a_baseline_matters_unless_windows_are_standardised() -> None:
    raw = make_raw()
    options = {"window_seconds": 1.0, "lowpass": None}
    plain, based = (
        [read_windows(raw, **options, **extra, standardise=how).x for how in ("window", None)]
        for extra in ({}, {"baseline_seconds": (-0.2, 0.0)})
    )
    np.testing.assert_allclose(based[0], plain[0], atol=1e-5)
    assert not np.allclose(based[1], plain[1], atol=1e-7)


def test_comma_in_a_marker_of_brainvision(tmp_path: Path, export: Export) -> None:
    path = export(tmp_path / "a.vhdr", make_raw())
    markers = tmp_path / "a.vmrk"
    healthy = markers.read_text()
    escaped = healthy.replace("Comment,right,", "Comment,right\\1 run 1,")
    assert escaped != healthy
    markers.write_text(healthy.replace("Comment,right,", "Comment,right, run 1,"))
    with pytest.raises(
        DataError, match=r"a\.vmrk, line \d+: 'Mk\d=Comment,right, run 1,.* written as \\1"
    ):
        read_windows(path)
    markers.write_text(escaped)
    assert "Comment/right, run 1" in read_windows(path).class_names
    path.write_text(path.read_text().replace("DataOrientation=", "DataOrientation=x"))
    with pytest.raises(DataError, match=r"cannot read .*a\.vhdr"):
        read_windows(path)


@pytest.mark.parametrize(
    "text", ["right, 5, run", "right,5", "5, 6, 7, 8", "right, 7,0", "right,5,1,0"]
)
def test_a_number_after_a_comma_is_not_the_onset(
    tmp_path: Path, export: Export, text: str
) -> None:
    """MNE reads such a marker, at the sample that the number in its text names."""
    path = export(tmp_path / "a.vhdr", make_raw())
    raw = mne.io.read_raw(path, verbose="error")
    markers = tmp_path / "a.vmrk"
    markers.write_text(markers.read_text().replace("Comment,right,", f"Comment,{text},"))
    shifted = mne.io.read_raw(path, verbose="error")
    assert list(shifted.annotations.onset) != list(raw.annotations.onset)
    with pytest.raises(DataError, match=r"a\.vmrk, line \d+: 'Mk\d=.* written as \\1"):
        read_windows(path)


@pytest.mark.parametrize(
    "rest", ["1,0,20240101120000000000", "1,0,0", ",0", "1,3", "0.5,0", "1,0,,Visible"]
)
def test_markers_as_other_programs_write_them(tmp_path: Path, export: Export, rest: str) -> None:
    path = export(tmp_path / "a.vhdr", make_raw())
    expected = read_windows(path, window_seconds=1.0)
    markers = tmp_path / "a.vmrk"
    text = re.sub(r"^(Mk\d+=Comment,\w+,\d+),.*$", rf"\1,{rest}", markers.read_text(), flags=re.M)
    markers.write_text(text)
    windows = read_windows(path, window_seconds=1.0)
    np.testing.assert_array_equal(windows.x, expected.x)
    assert windows.y.tolist() == expected.y.tolist()


def write_epoched_set(path: Path, *, others: list[float], tmin: float = -0.2) -> Path:
    """Write epochs around five events; other events are at some times after the first three."""
    pytest.importorskip("eeglabio")
    raw = make_raw(len(path.name))
    events, ids = mne.events_from_annotations(raw, verbose="error")
    onsets = np.array([ONSETS[i] + after for i, after in enumerate(others)])
    raw.set_annotations(mne.Annotations(onsets, 0.0, ["Response/R128"] * len(others)))
    epochs = mne.Epochs(raw, events, ids, tmin=tmin, tmax=1, baseline=None, preload=True)
    mne.export.export_epochs(path, epochs, overwrite=True, verbose="error")
    return path


def test_epochs_of_eeglab_with_several_events(tmp_path: Path) -> None:
    """The class is the event at time 0; MNE joins all names."""
    path = write_epoched_set(tmp_path / "a.set", others=[-0.1, 0.5, 0.004])
    joined = mne.read_epochs_eeglab(path, verbose="error").event_id
    assert "right/Response/R128" in joined
    windows = read_windows(path)
    assert windows.class_names == ("left", "right")
    assert windows.y.tolist() == [0, 1, 0, 1, 0]


def test_epochs_of_eeglab_without_an_event_at_zero(tmp_path: Path) -> None:
    path = write_epoched_set(tmp_path / "a.set", others=[0.5])
    content = scipy.io.loadmat(path, simplify_cells=True)
    for row in content["epoch"]:
        row["eventlatency"] = np.add(row["eventlatency"], 100.0)
    kept = {key: value for key, value in content.items() if not key.startswith("__")}
    scipy.io.savemat(path, kept)
    with pytest.raises(DataError, match=r"epoch \d of a\.set has the events .*, none .* time 0"):
        read_windows(path)


def test_folder_of_epochs_of_eeglab(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, export: Export
) -> None:
    for name in ("vp1_a.set", "vp1_bb.set", "vp2_ccc.set"):
        write_epoched_set(tmp_path / name, others=[])
    windows = read_windows(tmp_path)
    assert windows.subjects == ["vp1_a.set", "vp1_bb.set", "vp2_ccc.set"]
    assert "set `subject` to a regular expression such as" in caplog.text
    caplog.clear()
    grouped = read_windows(tmp_path, subject="^(vp[0-9])")
    assert grouped.subject.tolist() == ["vp1"] * 10 + ["vp2"] * 5
    assert len(set(grouped.recording)) == 3
    assert not caplog.messages
    with pytest.raises(DataError, match=r"`subject` must match .* does not match vp1_a\.set"):
        read_windows(tmp_path, subject="^(sub[0-9])")
    export(tmp_path / "vp3.set", make_raw())
    with pytest.raises(DataError, match=r"vp1_a\.set has epochs and vp3\.set does not"):
        read_windows(tmp_path)


def test_epochs_files_of_the_same_name(tmp_path: Path) -> None:
    """Each is a subject, named by its folder."""
    for folder in ("s1", "s2"):
        (tmp_path / folder).mkdir()
        write_epoched_set(tmp_path / folder / "task.set", others=[])
    assert read_windows(tmp_path).subjects == ["s1/task.set", "s2/task.set"]
    assert read_windows(tmp_path, subject="(s[0-9])/").subjects == ["s1", "s2"]


def test_several_epochs(tmp_path: Path) -> None:
    """One object per class and subject; ids differ, names do not."""

    def epochs(name: str, code: int, person: str, n: int) -> mne.EpochsArray:
        info = mne.create_info(["C3", "C4"], 100.0, "eeg")
        info["subject_info"] = {"his_id": person}
        data = np.random.default_rng(n).standard_normal((n, 2, 150))
        events = np.column_stack([np.arange(n), np.zeros(n, int), np.full(n, code)])
        return mne.EpochsArray(data, info, events, event_id={name: code}, verbose="error")

    parts = [epochs("left", 1, "a", 3), epochs("right", 1, "a", 4), epochs("left", 7, "b", 2)]
    windows = read_windows(parts, standardise=None)
    assert windows.class_names == ("left", "right")
    assert windows.y.tolist() == [0] * 3 + [1] * 4 + [0] * 2
    assert windows.subject.tolist() == ["a"] * 7 + ["b"] * 2
    data = np.concatenate([part.get_data() for part in parts])
    np.testing.assert_allclose(windows.x, data, rtol=1e-6)
    for i, part in enumerate(parts):
        part.save(tmp_path / f"{i}-epo.fif", fmt="double", verbose="error")
    from_files = read_windows(str(tmp_path / "*-epo.fif"), standardise=None)
    np.testing.assert_array_equal(from_files.x, windows.x)
    assert from_files.subject.tolist() == windows.subject.tolist()
    short = parts[2].copy().crop(0.0, 1.0)
    with pytest.raises(DataError, match="same number of samples, but epochs 1 has 150"):
        read_windows([parts[0], short])
    other = parts[1].copy().rename_channels({"C4": "Cz"})
    with pytest.raises(
        DataError, match="same channels, but epochs 2 has no C4, and epochs 1 has; select"
    ):
        read_windows([parts[0], other])


def test_triggers_of_a_stim_channel(tmp_path: Path) -> None:
    """They are the classes of recordings without annotations, by their codes."""
    raw = make_raw()
    raw.set_annotations(mne.Annotations([50.0], [1.0], ["BAD_end"]))
    stim = np.zeros((1, raw.n_times))
    for onset, code in ((500, 5), (1500, 9), (2500, 5), (5000, 9)):
        stim[0, onset : onset + 3] = code
    channel = mne.io.RawArray(stim, mne.create_info(["STI"], 100.0, "stim"), verbose="error")
    raw.add_channels([channel], force_update_info=True)
    raw.save(tmp_path / "a_raw.fif", verbose="error")
    with pytest.raises(DataError, match="`window_seconds` is missing, as '5' has 0 s"):
        read_windows(tmp_path / "a_raw.fif")
    windows = read_windows(
        tmp_path / "a_raw.fif", window_seconds=1.5, lowpass=None, highpass=None, standardise=None
    )
    assert windows.class_names == ("5", "9")
    # The last is in the bad part.
    assert windows.y.tolist() == [0, 1, 0]
    events = mne.find_events(raw, verbose="error")[:3]
    epochs = mne.Epochs(
        raw, events, tmin=0, tmax=1.49, baseline=None, picks="eeg", verbose="error"
    )
    np.testing.assert_allclose(windows.x, epochs.get_data(), rtol=1e-6)


def test_triggers_of_biosemi(tmp_path: Path) -> None:
    """The upper bits of the status are states of the device."""
    rng = np.random.default_rng(0)
    status = np.full(3000, 65536.0)
    for onset, code in ((500, 5), (1000, 9), (1500, 5), (2000, 9)):
        status[onset : onset + 20] += code
    signals = [
        edfio.BdfSignal(
            20 * rng.standard_normal(3000),
            100,
            label=name,
            physical_dimension="uV",
            physical_range=(-300, 300),
        )
        for name in ("C3", "C4")
    ]
    bits = (-(2**23), 2**23 - 1)
    signals.append(
        edfio.BdfSignal(status, 100, label="Status", physical_range=bits, digital_range=bits)
    )
    edfio.Bdf(signals).write(tmp_path / "a.bdf")
    windows = read_windows(
        tmp_path / "a.bdf", window_seconds=2.0, lowpass=None, highpass=None, standardise=None
    )
    assert windows.class_names == ("5", "9")
    assert windows.y.tolist() == [0, 1, 0, 1]
    data = mne.io.read_raw_bdf(tmp_path / "a.bdf", verbose="error").get_data(["C3", "C4"])
    starts = (500, 1000, 1500, 2000)
    expected = np.stack([data[:, start : start + 200] for start in starts])
    np.testing.assert_allclose(windows.x, expected, rtol=1e-6)


def test_bad_parts_are_dropped_as_in_mne(losses: Losses) -> None:
    raw = make_raw()
    raw.annotations.append([3.5, 31.9, 45.0], [0.2, 5.0, 1.0], ["bad_blink", "BAD", "bad"])
    windows = read_windows(raw, window_seconds=2.0, lowpass=None, highpass=None, standardise=None)
    np.testing.assert_allclose(windows.x, expected(raw, ["C3", "Cz", "C4"]), rtol=1e-6)
    assert len(windows) == 3
    assert "2 windows overlap an annotation that begins with 'bad'" in losses.text


def test_renamed_header_of_brainvision(
    tmp_path: Path, export: Export, caplog: pytest.LogCaptureFixture
) -> None:
    path = export(tmp_path / "a.vhdr", make_raw())
    renamed = path.rename(tmp_path / "b.vhdr")
    assert len(read_windows(renamed)) == 5
    (tmp_path / "a.eeg").rename(tmp_path / "b.eeg")
    with pytest.raises(DataError, match=r"b\.vhdr: .* its header names a\.eeg, which does not"):
        read_windows(renamed)


def test_damaged_file_beside_a_recording(tmp_path: Path, export: Export) -> None:
    """Only files that the reader opens are checked."""
    path = export(tmp_path / "a.bdf", make_raw())
    expected = read_windows(path, cache=False)
    (tmp_path / "a.set").write_bytes(b"damaged")
    (tmp_path / "a.fif").write_bytes(b"damaged" * 100)
    np.testing.assert_array_equal(read_windows(path, cache=False).x, expected.x)


def write_bci2000(path: Path, signals: np.ndarray) -> Path:
    """Write samples of 16 bits; the header names its own length."""
    text = "[ Parameter Definition ]\r\nSource int SamplingRate= 100 256 1 %\r\n\r\n"
    first = "HeaderLen= {:5d} SourceCh= 2 StatevectorLen= 1 DataFormat= int16\r\n"
    header = first.format(len(first.format(0)) + len(text)) + text
    frames = [column.astype("<i2").tobytes() + b"\0" for column in signals.T]
    path.write_bytes(header.encode() + b"".join(frames))
    return path


@pytest.mark.skipif(not hasattr(mne.io, "read_raw_bci2k"), reason="needs a later MNE")
def test_formats_that_only_mne_knows(tmp_path: Path) -> None:
    """Not looked for in folders, but read if they are named."""
    rng = np.random.default_rng(0)
    for name in ("rest", "task"):
        write_bci2000(tmp_path / f"{name}.dat", rng.integers(-99, 99, (2, 1000)))
    options = {"class_from": "file", "class_map": {"rest*": "rest", "task*": "task"}}
    options |= {"window_seconds": 5.0, "lowpass": None, "standardise": None, "channels": ["eeg"]}
    files = [tmp_path / "rest.dat", tmp_path / "task.dat"]
    windows = read_windows(files, **options)
    raws = [mne.io.read_raw(file, preload=True, verbose="error") for file in files]
    truth = np.concatenate([raw.get_data("eeg").reshape(2, 2, 500).swapaxes(0, 1) for raw in raws])
    np.testing.assert_allclose(windows.x, truth, rtol=1e-6)
    assert find_recordings(tmp_path) == []


def test_recordings_with_bad_windows_are_named(losses: Losses) -> None:
    raws = [make_raw(seed) for seed in range(3)]
    raws[1].load_data()._data[0] = 0
    raws[2].load_data()._data[0, 1000:1100] = 0
    raws[2].set_annotations(mne.Annotations(ONSETS, 1.0, TEXTS))
    windows = read_windows(raws, subject=list("abc"), window_seconds=1.0, on_bad="drop")
    assert windows.subjects == ["a", "c"]
    bad = "not used: raw-2 (5 of 5), raw-3 (1 of 5); channels are C3 (6)."
    text = f"6 of 15 windows have NaN or a flat channel and are {bad}"
    assert losses.messages.count(text) == 1
    lost = "1 of 3 subjects have no window left: b; choose other channels with `channels`."
    assert lost in losses.messages
    with pytest.raises(DataError, match=r"6 of 15 windows have NaN or a flat channel, C3 \(6\);"):
        read_windows(raws, subject=list("abc"), window_seconds=1.0)


def test_recordings_with_rejected_windows_are_named(losses: Losses) -> None:
    raws = [make_raw(seed) for seed in range(3)]
    raws[1].load_data()._data *= 100
    options = {"subject": list("abc"), "window_seconds": 1.0, "lowpass": None}
    # Peak-to-peak amplitudes by NumPy, of the windows without any rejection.
    peaks = np.ptp(read_windows(raws, **options, standardise=None).x.numpy(), axis=-1).max(axis=-1)
    limit = float(np.sort(peaks[:5])[-2:].mean())
    assert (peaks[5:10] > limit).all()
    n_first, n_last = int((peaks[:5] > limit).sum()), int((peaks[10:] > limit).sum())
    windows = read_windows(raws, **options, reject=limit)
    assert windows.subjects == ["a", "c"]
    assert n_first == 1
    start = f"{6 + n_last} of 15 windows exceed `reject` and are dropped: raw-2 (5 of 5)"
    assert any(text.startswith(start) for text in losses.messages)
    lost = "1 of 3 subjects have no window left: b; choose other channels with `channels`, or a"
    assert f"{lost} higher `reject`." in losses.messages


def test_files_are_in_natural_order(tmp_path: Path, export: Export) -> None:
    for name in ("S10", "S9", "S100"):
        export(tmp_path / f"{name}.vhdr", make_raw())
    for source in (tmp_path, str(tmp_path / "*.vhdr")):
        assert read_windows(source).subjects == ["S9", "S10", "S100"]


def test_channels_that_are_bad_in_a_recording(caplog: pytest.LogCaptureFixture) -> None:
    raws = [make_raw(0), make_raw(1, bads=("Cz",))]
    assert read_windows(raws).ch_names == ("C3", "C4")
    assert "bad in a recording are not used in any: Cz" in caplog.text
    caplog.clear()
    # The first recording may be the one.
    assert read_windows(raws[::-1]).ch_names == ("C3", "C4")
    assert "bad in a recording are not used in any: Cz" in caplog.text
    assert "different channels" not in caplog.text
    caplog.clear()
    assert read_windows(raws, channels=["Cz", "C4"]).ch_names == ("Cz", "C4")
    assert "used although they are marked as bad: Cz of raw-2" in caplog.text
    alone = make_raw(bads=("C3", "Cz", "C4"))
    with pytest.raises(DataError, match=r"no good EEG channel, .* set `channels`"):
        read_windows(alone)


def test_channels_that_not_all_recordings_have(caplog: pytest.LogCaptureFixture) -> None:
    raws = [make_raw(seed) for seed in range(3)]
    raws[1].rename_channels({"Cz": "Pz"})
    assert read_windows(raws).ch_names == ("C3", "C4")
    assert "raw-2 has no Cz; those that all have are used: C3, C4." in caplog.text
    caplog.clear()
    # The first recording may be the one that lacks a channel.
    fewer = [make_raw(0).drop_channels(["C3"]), make_raw(1)]
    assert read_windows(fewer).ch_names == ("Cz", "C4")
    assert "raw-1 has no C3; those that all have are used: Cz, C4." in caplog.text
    caplog.clear()
    # Or the last one.
    fewer = [make_raw(0), make_raw(1), make_raw(2).drop_channels(["C3"])]
    assert read_windows(fewer).ch_names == ("Cz", "C4")
    assert "raw-3 has no C3; those that all have are used: Cz, C4." in caplog.text
    raws[1].rename_channels({"C3": "F3", "C4": "F4"})
    with pytest.raises(
        DataError, match="no EEG channel is in all recordings: raw-1 has C3, Cz, C4, raw-2 has F3"
    ):
        read_windows(raws)


def test_recordings_without_windows_do_not_count(
    caplog: pytest.LogCaptureFixture, losses: Losses
) -> None:
    """Neither for the channels, nor for the names of subjects."""
    raws = [make_raw(0).drop_channels(["C3"]), *map(make_raw, range(1, 4))]
    raws[0].set_annotations(None)
    raws[2].drop_channels(["Cz"]).set_annotations(mne.Annotations([1.0], 3.0, ["bad"]))
    assert read_windows(raws).ch_names == ("C3", "Cz", "C4")
    text = "RawArray: 2 of 4 recordings have no window of a class and are left out: raw-1, raw-3."
    assert losses.messages == [text]
    assert "each of the 2 recordings counts as a subject" in caplog.messages[0]
    assert not caplog.messages[1:]
    caplog.clear()
    # The same of classes that are not selected.
    raws[1].drop_channels(["C4"]).set_annotations(mne.Annotations([1.0], 3.0, ["rest"]))
    assert read_windows(raws, classes=["left", "right"]).ch_names == ("C3", "Cz", "C4")
    assert "3 of 4 recordings have no window of a class" in losses.messages[1]


def test_nights_without_stages_are_left_out(losses: Losses) -> None:
    raws = [make_raw(0), make_raw(1)]
    raws[0].set_annotations(mne.Annotations([0.0, 30.0], 30.0, ["N1", "N2"]))
    raws[1].set_annotations(None)
    assert read_windows(raws, min_windows=1).class_names == ("N1", "N2")
    assert "1 of 2 recordings have no window of a class and are left out: raw-2." in losses.text


def test_types_of_channels(tmp_path: Path, export: Export) -> None:
    raw = make_raw(bads=("Cz",))
    assert read_windows(raw, channels=["eog", "eeg"]).ch_names == ("VEOG", "C3", "C4")
    with pytest.raises(DataError, match="raw-1 has no good channel of type 'emg'; its"):
        read_windows(raw, channels=["emg"])
    # EDF has no types, so names decide.
    raw.rename_channels({"VEOG": "EOG left"})
    path = export(tmp_path / "a.edf", raw)
    assert read_windows(path, channels=["eeg"]).ch_names == ("C3", "Cz", "C4")
    assert read_windows(path, channels=["eog", "C4"]).ch_names == ("EOG left", "C4")


def test_positions_of_sensors(tmp_path: Path, export: Export) -> None:
    raw = make_raw()
    raw.set_montage(mne.channels.make_standard_montage("colin27_1005"), on_missing="ignore")
    windows = read_windows(export(tmp_path / "a_raw.fif", raw), channels=["C4", "C3"])
    assert windows.positions is not None
    expected = [raw.info["chs"][i]["loc"][:3] for i in (2, 0)]
    np.testing.assert_allclose(windows.positions, expected, atol=1e-6)
    assert read_windows(make_raw()).positions is None


def test_nights_with_stages_as_annotations() -> None:
    texts = ["Sleep stage W", "Sleep stage 2", "Sleep stage 3", "Sleep stage 4", "Sleep stage R"]
    info = mne.create_info(["Fpz-Cz"], 50.0, "eeg")
    raw = mne.io.RawArray(
        1e-5 * np.random.default_rng(0).standard_normal((1, 50 * 300)), info, verbose="error"
    )
    raw.set_annotations(mne.Annotations(np.arange(5) * 60.0, 60.0, texts))
    windows = read_windows(raw, min_windows=1, lowpass=15.0)
    assert windows.class_names == ("W", "N2", "N3", "R")
    assert windows.class_counts().tolist() == [2, 2, 4, 2]
    kept = read_windows(raw, min_windows=1, lowpass=15.0, keep_stage_4=True)
    assert kept.class_names == ("W", "N2", "N3", "N4", "R")
    assert kept.class_counts().tolist() == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("name", ["a.vhdr", "a.set", "a.bdf", "a.gdf", "a.cnt", "a_raw.fif"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(DataError, match=rf"cannot read .*{name}"):
        read_windows(tmp_path / name)


def change_samples(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 400] = bytes(400)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(("name", "signals"), [("a.vhdr", "a.eeg"), ("a_raw.fif", "a_raw.fif")])
def test_change_of_signals_is_a_miss(
    tmp_path: Path, export: Export, name: str, signals: str
) -> None:
    """Also where they are in another file than the header."""
    path = export(tmp_path / name, make_raw())
    arguments = {"lowpass": None, "highpass": None, "standardise": None}
    before = read_windows(path, **arguments)
    raw = make_raw()
    raw._data[:, 900:1400] *= 3
    header = path.read_bytes()
    export(path, raw)
    assert (path.read_bytes() == header) == (signals != name)
    after = read_windows(path, **arguments)
    np.testing.assert_allclose(after.x[1], 3 * before.x[1], rtol=0.01, atol=1e-6)
    np.testing.assert_array_equal(after.x, read_windows(path, cache=False, **arguments).x)


def test_silent_change_of_signals_is_found_by_verifying(tmp_path: Path, export: Export) -> None:
    import os

    from cadda.data.io.cache import remove_outdated

    path = export(tmp_path / "a.vhdr", make_raw())
    before = read_windows(path, standardise=None)
    signals = tmp_path / "a.eeg"
    status = signals.stat()
    change_samples(signals)
    os.utime(signals, ns=(status.st_atime_ns, status.st_mtime_ns))
    truth = read_windows(path, standardise=None, cache=False)
    assert not np.array_equal(truth.x, before.x)
    np.testing.assert_array_equal(read_windows(path, standardise=None, cache="verify").x, truth.x)
    assert not remove_outdated()


def test_nothing_is_said_about_a_clean_recording(
    tmp_path: Path, export: Export, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="cadda"):
        read_windows(export(tmp_path / "a.vhdr", make_raw()), highpass=1.0)
    assert not caplog.messages


def test_files_of_the_same_name_are_told_apart_by_folders(tmp_path: Path, export: Export) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    raw = make_raw()
    export(tmp_path / "one" / "a.fif", raw)
    mne.make_fixed_length_epochs(raw, verbose="error").save(
        tmp_path / "two" / "a.fif", verbose="error"
    )
    with pytest.raises(DataError, match=r"but two/a\.fif has epochs and one/a\.fif does not"):
        read_windows([tmp_path / "one" / "a.fif", tmp_path / "two" / "a.fif"])


def test_formats_in_two_folders_are_warned_of(
    tmp_path: Path, export: Export, caplog: pytest.LogCaptureFixture
) -> None:
    """The same name, length and another format; another length is another recording."""
    raw, folders = make_raw(), [tmp_path / name for name in ("fif", "edf", "short")]
    for folder in folders:
        folder.mkdir()
    paths = [
        export(folders[0] / "a.fif", raw),
        export(folders[1] / "a.edf", raw),
        export(folders[2] / "a.edf", raw.copy().crop(0, 40)),
    ]
    options = {"subject": ["s1", "s2"], "highpass": 1.0}
    for pair, is_warned in (((0, 1), True), ((0, 2), False)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="cadda"):
            read_windows([paths[i] for i in pair], **options)
        assert (
            any("have the same name and length" in text for text in caplog.messages) == is_warned
        )
