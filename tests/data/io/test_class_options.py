"""Arguments that assign classes: those of mapping files, and before these."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from losses import Losses

import cadda
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]
WriteNight = Callable[..., Path]

EVENTS = [(2.0, 4.0, "left/fast"), (8.0, 4.0, "right/slow"), (14.0, 4.0, "left/slow")]
SUBJECT = r"^(s\d)"
BY_FILE = {"class_from": "file", "class_map": {"*_rest.edf": "rest", "*_task.edf": "task"}}


@pytest.fixture
def folder(tmp_path: Path, write_edf: WriteEdf) -> Path:
    """Two subjects, at rest and with a task, of twenty seconds each."""
    rng = np.random.default_rng(0)
    for subject in ("s1", "s2"):
        for task in ("rest", "task"):
            signals = {label: 20 * rng.standard_normal(2000) for label in ("C3", "C4")}
            path = tmp_path / "data" / subject / f"{subject}_{task}.edf"
            write_edf(path, signals, annotations=EVENTS)
    return tmp_path / "data"


def write_mapping(folder: Path, *lines: str) -> Path:
    path = folder / "mapping.toml"
    path.write_text("\n".join([f"subject = '{SUBJECT}'", "seconds = 2.0", *lines]))
    return path


def write_participants(path: Path, *rows: str) -> None:
    path.write_text(
        "\n".join(["participant_id\tgroup", *(row.replace(" ", "\t") for row in rows)])
    )


def read(source: Any, **options: Any) -> cadda.Windows:
    return read_windows(source, subject=SUBJECT, **options)


def assert_same(first: cadda.Windows, second: cadda.Windows) -> None:
    assert first.class_names == second.class_names
    assert first.y.tolist() == second.y.tolist()
    assert first.subject.tolist() == second.subject.tolist()
    np.testing.assert_array_equal(first.x, second.x)


def test_annotations_are_renamed_and_merged(folder: Path) -> None:
    windows = read(folder, class_map={"left/*": "l", "right/*": "r"})
    assert windows.class_names == ("l", "r")
    assert windows.y.tolist() == [0, 1, 0] * 4
    file = write_mapping(folder, "[classes]", '"left/*"="l"', '"right/*"="r"')
    assert_same(windows, read(file, window_seconds=4))
    some = read(folder, class_map={"left/*": "l", "left/fast": "fast"}, classes=["l", "fast"])
    # The text itself comes before a pattern.
    assert some.y.tolist() == [1, 0] * 4


def test_the_length_of_windows_is_that_of_annotations_with_a_class(
    tmp_path: Path, write_edf: WriteEdf
) -> None:
    events = [(0.0, 0.0, "start"), (1.0, 2.0, "go left"), (4.0, 3.0, "go right")]
    signal = 20 * np.random.default_rng(0).standard_normal(2000)
    path = write_edf(tmp_path / "a.edf", {"C3": signal}, annotations=events)
    classes = {"*left": "left", "*right": "right"}
    assert read_windows(path, class_map=classes).x.shape == (2, 1, 200)
    with pytest.raises(DataError, match="`window_seconds` is missing, as 'start' has 0 s"):
        read_windows(path, class_map={**classes, "start": "start"})


def test_repeat_fills_annotations(folder: Path) -> None:
    classes = {"left/*": "l", "right/*": "r"}
    assert len(read(folder, class_map=classes, window_seconds=1)) == 12
    assert len(read(folder, class_map=classes, window_seconds=1, repeat=True)) == 48
    file = write_mapping(folder, "repeat = true", "[classes]", '"left/*"="l"', '"right/*"="r"')
    assert len(read_windows(file)) == 24
    assert len(read_windows(file, repeat=False)) == 12


def test_classes_by_file_names(folder: Path) -> None:
    windows = read(folder, window_seconds=2, **BY_FILE)
    assert windows.y.tolist() == ([0] * 10 + [1] * 10) * 2
    within = read(folder, within=["left/*"], **BY_FILE)
    assert within.y.tolist() == [0, 0, 1, 1] * 2
    assert within.x.shape[-1] == 400
    lines = ['class_from = "file"', 'within = ["left/*"]', "[classes]"]
    file = write_mapping(
        folder, *lines, *(f'"{k}"="{v}"' for k, v in BY_FILE["class_map"].items())
    )
    assert_same(within, read(file, window_seconds=4))
    assert read(file, within=["right/*"]).y.tolist() == [0, 1] * 2


def test_within_that_matches_no_annotation(folder: Path) -> None:
    message = (
        r"no recording of a class has one of the annotations \['nope'\] of {}; s1_rest.edf has "
        r"\['left/fast', 'left/slow', 'right/slow'\]"
    )
    with pytest.raises(DataError, match=message.format("`within`")):
        read(folder, within=["nope"], **BY_FILE)
    lines = ['class_from = "file"', "within = ['nope']", "[classes]", '"*" = "a"']
    with pytest.raises(DataError, match=message.format("the key `within`")):
        read(write_mapping(folder, *lines))
    other = {"class_from": "file", "class_map": {"x*": "x", "y*": "y"}}
    with pytest.raises(DataError, match=r"no recording has one of the classes \['x\*', 'y\*'\]"):
        read(folder, within=["left/*"], **other)


@pytest.mark.parametrize("as_list", [False, True])
def test_classes_by_a_table_of_participants(folder: Path, as_list: bool) -> None:
    write_participants(folder / "participants.tsv", "s1 patient", "s2 control")
    source = sorted(folder.rglob("*.edf")) if as_list else folder
    by_group = {"class_from": "participants:group", "window_seconds": 2}
    windows = read(source, **by_group)
    assert windows.class_names == ("control", "patient")
    assert windows.y.tolist() == [1] * 20 + [0] * 20
    named = read(source, class_map={"pat*": "p", "con*": "c"}, **by_group)
    assert named.class_names == ("p", "c")
    assert named.y.tolist() == [0] * 20 + [1] * 20
    write_participants(folder / "other.tsv", "s1 b", "s2 a")
    for table in ("other.tsv", folder / "other.tsv"):
        assert read(source, participants=table, **by_group).class_names == ("a", "b")
    with pytest.raises(DataError, match=r"none\.tsv"):
        read(source, participants="none.tsv", **by_group)


@pytest.mark.parametrize("missing", ["n/a", "N/A", ""])
@pytest.mark.parametrize("with_file", [False, True])
def test_participants_without_a_value_are_left_out(
    folder: Path, missing: str, with_file: bool, losses: Losses
) -> None:
    for file in sorted((folder / "s2").iterdir()):
        shutil.copy(file, folder / file.name.replace("s2", "s3"))
    write_participants(folder / "participants.tsv", "s1 patient", f"s2 {missing}", "s3 control")
    source: Any = folder
    by_group = {"class_from": "participants:group", "window_seconds": 2}
    if with_file:
        # A pattern is about values, and a missing one is none.
        source = write_mapping(folder, "[classes]", '"c*" = "control"', '"*" = "patient"')
    windows = read(source, **by_group)
    assert windows.class_names == ("control", "patient")
    assert windows.subjects == ["s1", "s3"]
    assert losses.text.count("left out") == 1
    assert (
        "column 'group' is n/a or empty for 2 of 6 recordings, which are left out: "
        "'s2_rest.edf', 's2_task.edf'" in losses.text
    )


def test_missing_values_that_a_class_names(folder: Path) -> None:
    write_participants(folder / "participants.tsv", "s1 patient", "s2 n/a")
    by_group = {"class_from": "participants:group", "window_seconds": 2}
    windows = read(folder, class_map={"patient": "patient", "n/a": "unknown"}, **by_group)
    assert windows.class_counts().tolist() == [20, 20]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["s1 n/a", "s2"],
            "no value in column 'group' for any of the 4 recordings .*; fill it in, or set "
            "`class_from` to another column",
        ),
        (
            ["s1 patient", "s2 patient", "sub-s1 control"],
            "several rows of participant 's1' with different values in column 'group', 'patient' "
            "and 'control'; keep one of them",
        ),
        (["s3 patient", "s4 control"], "no participant 's1'"),
    ],
)
@pytest.mark.parametrize("class_map", [None, {"patient": "p", "control": "c"}])
def test_tables_of_participants_that_are_refused(
    folder: Path, rows: list[str], message: str, class_map: dict[str, str] | None
) -> None:
    write_participants(folder / "participants.tsv", *rows)
    options = {"class_from": "participants:group", "window_seconds": 2}
    with pytest.raises(DataError, match=rf"participants\.tsv has {message}"):
        read(folder, class_map=class_map, **options)


def test_rows_that_agree_are_accepted(folder: Path) -> None:
    rows = ("s1 patient", "s2 control", "sub-s1 patient ")
    write_participants(folder / "participants.tsv", *rows)
    windows = read(folder, class_from="participants:group", window_seconds=2)
    assert windows.class_counts().tolist() == [20, 20]


def test_arguments_come_before_keys(folder: Path) -> None:
    write_participants(folder / "participants.tsv", "s1 patient", "s2 control")
    file = write_mapping(folder, "[classes]", '"left/*" = "l"', '"right/*" = "r"')
    windows = read_windows(
        file, class_from="participants:group", class_map={"patient": "p", "control": "c"}
    )
    assert windows.class_names == ("p", "c")
    assert len(windows) == 40
    assert read_windows(file, class_map={"*/slow": "s", "*/fast": "f"}).class_names == ("s", "f")


def test_patterns_without_an_annotation_are_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    classes = {"left/*": "l", "right/*": "r", "rihgt/*": "r"}
    read(folder, class_map=classes)
    assert "no file has the annotation 'rihgt/*' of `class_map`; there are" in caplog.text
    with pytest.raises(DataError, match=r"no file has one of the annotations \['rest'\]; s1_rest"):
        read(folder, class_map={"rest": "rest"})


def test_stages_of_nights_are_merged(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path, stages=["W", "1", "2", "3", "4", "R"])
    windows = read_windows(tmp_path, class_map={"W": "wake", "N*": "NREM", "Sleep stage R": "REM"})
    assert windows.class_names == ("wake", "NREM", "REM")
    assert windows.y.tolist() == [0, 1, 1, 1, 1, 2]
    two = read_windows(tmp_path, class_map={"N1": "light", "N2": "light", "N3": "deep"})
    assert two.y.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="N3 to one class, got 'a' and 'b'; `keep_stage_4=True`"):
        read_windows(tmp_path, class_map={"Sleep stage 3": "a", "Sleep stage 4": "b"})
    apart = {"Sleep stage 3": "a", "Sleep stage 4": "b"}
    assert read_windows(tmp_path, class_map=apart, keep_stage_4=True).y.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"`class_map` must match a class, but .* has \['W', 'N1'"):
        read_windows(tmp_path, class_map={"left": "left"})
    for option in ({"class_from": "file"}, {"repeat": True}, {"within": ["W"]}):
        with pytest.raises(ValueError, match=f"`{next(iter(option))}` is not for nights"):
            read_windows(tmp_path, **option)


def stage_raw(stages: str) -> Any:
    """Return a recording of three windows of each stage."""
    texts = [f"Sleep stage {stage}" for stage in stages]
    noise = 2e-5 * np.random.default_rng(0).standard_normal((1, 9000 * len(texts)))
    raw = mne.io.RawArray(noise, mne.create_info(["C3"], 100.0, "eeg"), verbose="error")
    return raw.set_annotations(mne.Annotations(90.0 * np.arange(len(texts)), 90.0, texts))


def stage_epochs(stages: str) -> Any:
    """Return epochs of three windows of each stage."""
    event_id = {f"Sleep stage {stage}": i for i, stage in enumerate(stages)}
    events = np.stack([np.arange(3 * len(stages)), np.zeros(3 * len(stages), int)], axis=1)
    events = np.column_stack([events, np.repeat(range(len(stages)), 3)])
    noise = 2e-5 * np.random.default_rng(0).standard_normal((len(events), 1, 3000))
    info = mne.create_info(["C3"], 100.0, "eeg")
    return mne.EpochsArray(noise, info, events, event_id=event_id, verbose="error")


@pytest.mark.parametrize("make", [stage_raw, stage_epochs])
@pytest.mark.parametrize(("named", "other"), [("3", "4"), ("4", "3")])
def test_a_map_of_one_of_stages_3_and_4(
    make: Callable[[str], Any], named: str, other: str
) -> None:
    classes = {"Sleep stage 1": "a", f"Sleep stage {named}": "b"}
    with pytest.raises(
        ValueError,
        match=f"`class_map` has 'Sleep stage {named}', but not stage {other}, .* merged into N3; "
        "assign 'N3' to a class to use both, or tell them apart with `keep_stage_4=True`",
    ):
        read_windows(make("W1234R"), subject=["s"], class_map=classes)
    apart = read_windows(make("W1234R"), subject=["s"], class_map=classes, keep_stage_4=True)
    assert apart.class_counts().tolist() == [3, 3]
    # Without the other stage, there is nothing to tell apart.
    alone = make("W1234R".replace(other, ""))
    assert read_windows(alone, subject=["s"], class_map=classes).class_counts().tolist() == [3, 3]
    for both in ("N3", f"Sleep stage {other}"):
        merged = read_windows(make("W1234R"), subject=["s"], class_map={**classes, both: "b"})
        assert merged.class_counts().tolist() == [3, 6]


@pytest.mark.parametrize("make", [stage_raw, stage_epochs])
@pytest.mark.parametrize(
    ("class_map", "message"),
    [
        ({"R": "a", "REM": "b"}, "R to one class, got 'a' and 'b'; 'R' and 'REM' are the same"),
        ({"N3": "a", "S3": "b"}, "N3 to one class, .* 'N3' and 'S3' are the same stage, so keep"),
        (
            {"Sleep stage *": "x", "W": "y"},
            r"sleep stages, which are renamed to W, N1, N2, N3, R, got 'Sleep stage \*'; use such",
        ),
        ({"Sleep stage ?": "x", "W": "y"}, r"got 'Sleep stage \?'; .*unscored parts have no win"),
    ],
)
def test_maps_that_stages_cannot_follow(
    make: Callable[[str], Any], class_map: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=f"`class_map` must .*{message}"):
        read_windows(make("W1234R?"), subject=["s"], class_map=class_map)


def test_stages_as_annotations_are_merged(tmp_path: Path, write_edf: WriteEdf) -> None:
    texts = [f"Sleep stage {stage}" for stage in "W12R"]
    notes = [(30 * i, 30, text) for i, text in enumerate(texts)]
    signal = 20 * np.random.default_rng(0).standard_normal(12000)
    path = write_edf(tmp_path / "a.edf", {"C3": signal}, annotations=notes)
    windows = read_windows(path, class_map={"W": "wake", "Sleep stage 1": "sleep", "N2": "sleep"})
    assert windows.class_names == ("wake", "sleep")
    assert windows.y.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="`repeat` is not for sleep stages, which"):
        read_windows(path, repeat=True)


def make_epochs() -> Any:
    windows = cadda.simulate_motor_imagery(n_subjects=3, n_windows=8, seed=0)
    epochs = windows.to_epochs()
    rows = epochs.metadata.assign(task=[f"{'ab'[i % 2]}{i % 4}" for i in range(len(epochs))])
    with mne.use_log_level("error"):
        epochs.metadata = rows
    return epochs


def test_epochs() -> None:
    epochs = make_epochs()
    plain = read_windows(epochs)
    first, second, *_ = plain.class_names
    merged = read_windows(epochs, class_map={second: "x", first: "y"})
    assert merged.class_names == ("x", "y")
    kept = [int(label) for label in plain.y if label < 2]
    assert merged.y.tolist() == [1 - label for label in kept]
    by_column = read_windows(
        epochs, class_from="metadata:task", class_map={"a*": "A", "b1": "B", "b3": "B"}
    )
    assert by_column.y.tolist() == [0, 1] * 12
    assert_same(by_column, read_windows(epochs, label="task", class_map={"a*": "A", "b*": "B"}))
    assert read_windows(epochs, class_from="metadata:task").n_classes == 4


def test_epochs_of_sleep() -> None:
    epochs = cadda.simulate_sleep(n_subjects=3, n_windows=10, seed=0).to_epochs()
    windows = read_windows(epochs, class_map={"Sleep stage W": "wake", "N*": "sleep"})
    assert windows.class_names == ("wake", "sleep")
    plain = read_windows(epochs).class_counts()
    assert windows.class_counts().tolist() == [plain[0], sum(plain[1:4])]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"within": ["a"]}, "`within` is for recordings; epochs are windows already"),
        ({"repeat": True}, "`repeat` is for recordings; epochs are windows already"),
        ({"participants": "p.tsv"}, "`participants` is for recordings"),
        ({"class_from": "file"}, "`class_from` must be 'metadata:COLUMN' for epochs, got 'file'"),
        ({"class_from": "metadata:a", "label": "b"}, "pass `label` or `class_from`, not both"),
    ],
)
def test_options_that_are_not_for_epochs(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_windows(make_epochs(), **option)


def test_mapping_files_of_epochs(tmp_path: Path) -> None:
    make_epochs().save(tmp_path / "a-epo.fif", verbose="error")
    file = tmp_path / "mapping.toml"
    file.write_text('class_from = "metadata:task"\n[classes]\n"a*" = "A"\n"b*" = "B"')
    assert read_windows(file).y.tolist() == [0, 1] * 12
    renamed = read_windows(file, class_map={"*1": "one", "*3": "three"})
    assert renamed.y.tolist() == [0, 1] * 6
    with pytest.raises(ValueError, match="`class_from` must be 'metadata:COLUMN' for epochs"):
        read_windows(file, class_from="file")


def test_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["left hand", "right hand", "feet"]
    arrays = {"x": rng.standard_normal((6, 2, 50)), "y": np.arange(6) % 3, "class_names": names}
    arrays |= {"subject": np.arange(6) // 3, "sfreq": 100.0, "ch_names": ["C3", "C4"]}
    windows = cadda.Windows(**arrays)
    windows.save(tmp_path / "saved.npz")
    np.savez(tmp_path / "arrays.npz", **arrays)
    for source in (windows, arrays, tmp_path / "saved.npz", tmp_path / "arrays.npz"):
        merged = read_windows(source, class_map={"*hand": "hand", "feet": "feet"})
        assert merged.class_names == ("hand", "feet")
        assert merged.y.tolist() == [0, 0, 1] * 2
        some = read_windows(source, class_map={"feet": "feet", "left*": "left"})
        assert some.y.tolist() == [1, 0] * 2
        with pytest.raises(ValueError, match="`repeat` is for recordings, not for arrays"):
            read_windows(source, repeat=True)
        with pytest.raises(DataError, match=r"`class_map` must match a class.*\['rihgt'\]"):
            read_windows(source, class_map={"rihgt": "right"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_from": "folder"}, "`class_from` must be 'annotations', 'file', .* got 'folder'"),
        ({"class_from": "file"}, "`class_map` must be given with `class_from`='file'"),
        ({"class_from": "metadata:a"}, "got 'metadata:a', which is for epochs"),
        ({"within": "left"}, "`within` must be a list of at least one annotation, got 'left'"),
        ({"within": []}, r"`within` must be a list of at least one annotation, got \[\]"),
        ({"within": ["left/*"]}, "`within` is for classes that are not those of annotations"),
        ({"participants": "p.tsv"}, "`participants` is for classes of participants; set"),
        ({"class_map": {}}, r"`class_map` must assign at least one pattern .* got \{\}"),
        ({"class_map": {"left/*": " "}}, "`class_map`: a class name is printable text"),
        ({"class_map": {"left/*": 1}}, "`class_map` must be texts, got 'left/.*': 1"),
        (BY_FILE, "`window_seconds` is missing; set it to the length of the windows that fill"),
    ],
)
@pytest.mark.parametrize("with_file", [False, True])
def test_refuses(folder: Path, options: dict[str, Any], message: str, with_file: bool) -> None:
    if with_file:
        write_mapping(folder, "[classes]", '"left/*" = "l"', '"right/*" = "r"')
    if with_file and options in (BY_FILE, {"class_from": "file"}):
        pytest.skip("the mapping file has it")
    with pytest.raises((ValueError, TypeError, DataError), match=message):
        read(folder, **options)


def test_transition(folder: Path) -> None:
    classes = {"left/*": "l", "right/*": "r"}
    narrow, wide = (read(folder, class_map=classes, transition=t) for t in (2.0, 7.0))
    assert not np.allclose(narrow.x, wide.x)
    np.testing.assert_array_equal(wide.x, read(folder, class_map=classes).x)
    with pytest.raises(ValueError, match="`transition`"):
        read(folder, transition=-1)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['within = ["left/*"]'], "`within` is not for classes by 'annotations'; set .*'file' or"),
        (
            ['participants = "people.tsv"', 'class_from = "file"'],
            "`participants` is not for classes by 'file'; set .* to 'participants:COLUMN', or",
        ),
    ],
)
def test_keys_without_effect(folder: Path, lines: list[str], reason: str) -> None:
    file = folder / "mapping.toml"
    file.write_text("\n".join([*lines, "seconds = 2.0", "[classes]", '"left*" = "a"']))
    with pytest.raises(DataError, match=f"mapping.toml: key {reason}"):
        read(file)


def test_options_without_effect_on_recordings(folder: Path) -> None:
    for options in ({}, BY_FILE):
        with pytest.raises(ValueError, match="`label` is for epochs, got 'x'; set `class_from`"):
            read(folder, label="x", **options)
        with pytest.raises(ValueError, match="`keep_stage_4` is for sleep stages, and the"):
            read(folder, keep_stage_4=True, **options)
    (folder / "mapping.toml").write_text('seconds = 2.0\n[classes]\n"left*" = "a"\n"*" = "b"\n')
    with pytest.raises(ValueError, match="`keep_stage_4` is for sleep stages"):
        read(folder, keep_stage_4=True)


def test_label_has_no_effect_on_nights(tmp_path: Path, write_night: WriteNight) -> None:
    write_night(tmp_path)
    with pytest.raises(ValueError, match="`label` is for epochs, got 'stage'; set `class_from`"):
        read_windows(tmp_path, label="stage")


def test_patterns_that_match_no_value_are_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Patterns distinguish capital letters."""
    write_participants(folder / "participants.tsv", "s1 Patient", "s2 control")
    options = {"class_from": "participants:group", "window_seconds": 2}
    with pytest.raises(DataError, match=r"must have windows, got 0 of 'p', [0-9]+ of 'c'\."):
        read(folder, class_map={"pat*": "p", "control": "c"}, min_windows=0, **options)
    assert (
        "no file has the value 'pat*' of `class_map`; there are 'Patient', 'contr" in caplog.text
    )
