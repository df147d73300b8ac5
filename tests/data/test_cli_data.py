"""`cadda data` as its users meet it."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import mne
import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

import cadda
from cadda.cli import app as cli
from cadda.cli.data import cache
from cadda.cli.reading import ReadingOptions
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import DataError
from cadda.reporting.html.provenance import read_call
from cadda.reporting.records import Reading

WriteNight = Callable[..., Path]
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command and give what it prints on both channels."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["cadda", "data", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        assert (stop.value.code or 0) == code, captured.err
        return captured.out, captured.err

    return call


def test_help_shows_every_way_to_data(run: Run) -> None:
    out, _ = run("--help")
    examples = " ".join(out[out.index("Examples:") :].split())
    for command in ("cadda data info ", "cadda data simulate ", "cadda data fetch "):
        assert command in examples


def test_info_of_nights(tmp_path: Path, write_night: WriteNight, run: Run) -> None:
    for seed, name in enumerate(("SC4001", "SC4002", "SC4011")):
        write_night(tmp_path, name, seed=seed)
    out, err = run("info", str(tmp_path))
    assert "36 windows of 2 channels × 30 s at 100 Hz, 2 subjects" in out
    row = next(line for line in out.splitlines() if "SC400" in line)
    assert [int(cell) for cell in row.replace("│", " ").split()[1:]] == [4, 4, 4, 8, 4, 24]
    assert re.search(r" Fpz-Cz (19\.9|20\.0) µV", out)
    assert "windows with NaN or a flat channel: 0\n" in out
    assert "windows with a clipped channel: 0\n" in out
    defaults = "no high-pass, low-pass 30 Hz, reference as recorded, windows of 30 s"
    assert f"task, by the names of the classes: sleep stages; defaults: {defaults}\n" in out
    assert "not applicable: channel_symmetry, no channel has a partner" in out
    assert err == ""


def test_info_as_json(tmp_path: Path, write_night: WriteNight, run: Run) -> None:
    write_night(tmp_path, stages=["W", "1", "2", "R"])
    out, _ = run("info", str(tmp_path), "--json", "--channels", "Pz-Oz, fpz-cz")
    report = json.loads(out)
    assert report["classes"] == {"W": 1, "N1": 1, "N2": 1, "N3": 0, "R": 1}
    assert report["subjects"]["SC400"] == {"W": 1, "N1": 1, "N2": 1, "N3": 0, "R": 1}
    assert report["channels"] == ["Pz-Oz", "fpz-cz"]
    assert report["amplitude"]["Pz-Oz"] == pytest.approx(2e-5, rel=0.05)
    assert report["n_recordings"] == 1
    assert "sign_flip" in report["operations"]
    assert "channel_symmetry" in report["left_out"]


def test_info_counts_flaws(tmp_path: Path, run: Run) -> None:
    x = np.random.default_rng(0).standard_normal((40, 2, 300))
    x[0, 0] = 1.0
    x[1] = np.clip(x[1], -1, 1)
    file = tmp_path / "a.npz"
    subjects = np.repeat([f"s{i}" for i in range(20)] + ["t", "u", "v", "w"], [1] * 20 + [5] * 4)
    np.savez(file, x=x, y=np.arange(40) % 2, subject=subjects, sfreq=100.0, ch_names=["C3", "C4"])
    out, _ = run("info", str(file))
    assert "flat channel: 1, not counted above; drop them with --drop-bad" in out
    dropped, _ = run("info", str(file), "--drop-bad")
    assert "windows with NaN or a flat channel: 1, dropped\n" in dropped
    assert "39 windows" in dropped
    assert "windows with a clipped channel: 1\n" in out
    one, _ = run("info", str(file), "--channels", "C4", "--json")
    assert list(json.loads(one)["amplitude"]) == ["C4"]
    assert json.loads(one)["n_bad"] == 0
    assert re.search(r"C3 (0\.9\d|1)", out)
    assert all(re.search(rf"\b{subject}\b", out) for subject in subjects[1:])


def test_info_of_many_channels(tmp_path: Path, run: Run) -> None:
    scale = 1e-5 * np.arange(1, 13)
    x = scale[:, None] * np.random.default_rng(0).standard_normal((20, 12, 65))
    file, names = tmp_path / "a.npz", [f"E{i}" for i in range(1, 13)]
    subjects = np.repeat(["a", "b"], 10)
    np.savez(file, x=x, y=np.arange(20) % 2, subject=subjects, sfreq=64.0, ch_names=names)
    out = " ".join(run("info", str(file))[0].split())
    assert "12 channels × 1.016 s at 64 Hz" in out
    found = re.search(r"window\): median (\S+) µV; lowest E1 .*, E2 .*; highest E12 .* E11 ", out)
    assert found is not None
    assert float(found[1]) == pytest.approx(65, rel=0.05)
    assert "--json has all 12 channels" in out


def test_info_names_channels_that_operations_leave_as_they_are(tmp_path: Path, run: Run) -> None:
    x = np.random.default_rng(0).standard_normal((20, 6, 100))
    some, subjects = ["C3", "C4", "Cz", "Pz"], np.repeat(["a", "b"], 10)
    told = {}
    for others in (["F3", "F4"], ["E1-C3", "STATUSX"]):
        file = tmp_path / f"{others[0]}.npz"
        given = {"y": np.arange(20) % 2, "subject": subjects, "sfreq": 100.0}
        np.savez(file, x=x, ch_names=[*some, *others], **given)
        told[others[0]] = " ".join(run("info", str(file))[0].split())
        report = json.loads(run("info", str(file), "--json")[0])
        unknown = [] if others[0] == "F3" else others
        assert report["unpaired"] == report["unlocated"] == unknown
        assert report["n_pairs"] == 2 - bool(unknown)
    assert "left-right pairs of channels: 2" in told["F3"]
    assert "no partner" not in told["F3"]
    assert "no known position" not in told["F3"]
    assert "left-right pairs of channels: 1" in told["E1-C3"]
    assert "no partner on the other side of the head: E1-C3, STATUSX;" in told["E1-C3"]
    assert "no known position: E1-C3, STATUSX; rotations leave them" in told["E1-C3"]


@pytest.mark.parametrize("n_times", [20, 99, 100, 101])
def test_short_windows_are_not_clipped(n_times: int, tmp_path: Path, run: Run) -> None:
    """Every window has a maximum and a minimum."""
    x = np.random.default_rng(0).standard_normal((12, 2, n_times))
    x[0] = np.clip(x[0], -0.5, 0.5)
    file = tmp_path / "a.npz"
    np.savez(file, x=x, y=np.arange(12) % 2, subject=np.arange(12) // 4, sfreq=100.0)
    assert "windows with a clipped channel: 1\n" in run("info", str(file))[0]


def test_info_shows_classes_without_windows(
    tmp_path: Path, write_night: WriteNight, run: Run
) -> None:
    """Other commands raise for them, and with the option that is named they do not."""
    stages = ["Sleep stage W"] * 4 + ["Sleep stage 2"] * 4
    write_night(tmp_path, "SC4001", stages=stages)
    out, _ = run("info", str(tmp_path), "--json")
    classes = json.loads(out)["classes"]
    assert [name for name, count in classes.items() if not count] == ["N1", "N3", "R"]
    note = "no windows of N1, N3, R; leave out such classes with --min-windows 1"
    assert note in run("info", str(tmp_path))[0]
    with pytest.raises(DataError, match="no window of 'N1', 'N3', 'R'"):
        read_windows(tmp_path)
    out, _ = run("info", str(tmp_path), "--json", "--min-windows", "1")
    assert set(json.loads(out)["classes"]) == {"W", "N2"}
    assert read_windows(tmp_path, min_windows=1).class_names == ("W", "N2")


def test_info_of_some_classes(tmp_path: Path, write_night: WriteNight, run: Run) -> None:
    write_night(tmp_path, stages=["W", "W", "1", "2", "2", "R"])
    out, _ = run("info", str(tmp_path), "--json", "--min-windows", "2")
    assert json.loads(out)["classes"] == {"W": 2, "N2": 2}
    out, _ = run("info", str(tmp_path), "--json", "--min-windows", "0")
    assert json.loads(out)["classes"] == {"W": 2, "N1": 1, "N2": 2, "N3": 0, "R": 1}
    out, _ = run("info", str(tmp_path), "--json", "--classes", "R, W")
    assert json.loads(out)["classes"] == {"R": 1, "W": 2}


def test_the_mapping_file_of_a_folder_is_named(
    tmp_path: Path, write_edf: WriteNight, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = [(1.0, 2.0, "T1"), (5.0, 2.0, "T2")]
    noise = 20 * np.random.default_rng(0).standard_normal(1000)
    write_edf(tmp_path / "a.edf", {"Cz": noise}, annotations=notes)
    mapping = tmp_path / "fists.toml"
    mapping.write_text("seconds = 2.0\n[classes]\nT1 = 'left'\nT2 = 'right'")
    out, err = run("info", str(tmp_path))
    assert "note: classes and preprocessing are those of the mapping file fists.toml\n" in out
    assert err == ""
    # Commands other than `cadda data info` read windows so.
    assert ReadingOptions().read(tmp_path).class_names == ("left", "right")
    named, slow = capsys.readouterr().err.splitlines()
    assert named == "note: classes and preprocessing are those of the mapping file fists.toml"
    assert slow.endswith("is removed by a high-pass of 4 Hz; keep it with `highpass=None`")
    ReadingOptions().read(mapping)
    assert capsys.readouterr().err == f"{slow}\n"
    ReadingOptions(highpass="4").read(mapping)
    assert capsys.readouterr().err == ""


def test_info_of_saved_windows(tmp_path: Path, run: Run) -> None:
    x = np.random.default_rng(0).standard_normal((4, 2, 300))
    windows = Windows(
        x,
        [0, 1, 0, 1],
        subject=list("aabb"),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["[l]", "r"],
    )
    windows.save(tmp_path / "w.npz")
    out, _ = run("info", str(tmp_path / "w.npz"), "--json")
    assert json.loads(out)["classes"] == {"[l]": 2, "r": 2}
    out, _ = run("info", str(tmp_path / "w.npz"))
    assert re.search(r"subject . \[l\] . r", out)
    assert "note:" not in out
    windows.x.mul_(1e-5)
    windows.save(tmp_path / "volts.npz")
    out, _ = run("info", str(tmp_path / "volts.npz"))
    assert "note: the windows have a standard deviation of 1e-05" in out
    assert "`--standardise window` to read them" in out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none-epo.fif", "none-epo.fif does not exist"),
        ("empty", "empty has no recording; it must have pairs such as"),
        ("text.csv", "text.csv must be an MNE epochs file"),
        ("broken-epo.fif", "broken-epo.fif as MNE epochs"),
    ],
)
def test_mistakes_end_in_a_sentence(
    tmp_path: Path, cache_folder: Path, run: Run, name: str, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.csv").touch()
    (tmp_path / "broken-epo.fif").write_text("broken")
    before = sorted(tmp_path.rglob("*"))
    out, err = run("info", str(tmp_path / name), code=2)
    assert out == ""
    assert message in err
    assert err.startswith("cadda: ")
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before


def test_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    asked: list[tuple[int, int]] = []

    def fetch_data(**arguments: object) -> list[list[str]]:
        assert arguments["path"] == str(tmp_path)
        asked.append((arguments["subjects"][0], arguments["recording"][0]))
        return [[str(tmp_path / "data" / "a-PSG.edf"), str(tmp_path / "data" / "a-Hyp.edf")]]

    monkeypatch.setattr(mne.datasets.sleep_physionet.age, "fetch_data", fetch_data)
    options = ("--subjects", "0-1, 7", "--recordings", "1,2", "--out", str(tmp_path))
    out, _ = run("fetch", "sleep-physionet", *options)
    assert asked == [(0, 1), (0, 2), (1, 1), (1, 2), (7, 1), (7, 2)]
    assert f"6 nights are in {tmp_path / 'data'}" in out
    assert "Next: cadda data info" in out
    out, _ = run("fetch", "sleep-physionet", *options, "--json")
    assert json.loads(out) == {"folder": str(tmp_path / "data"), "nights": 6}


def test_fetch_imagined_fists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    asked: list[int] = []

    def load_data(subjects: list[int], runs: list[int], **arguments: object) -> list[Path]:
        asked.extend(subjects)
        return [Path(str(arguments["path"]), f"S{subjects[0]:03d}R{run:02d}.edf") for run in runs]

    monkeypatch.setattr(mne.datasets.eegbci, "load_data", load_data)
    options = ("--subjects", "1-2,5", "--out", str(tmp_path))
    out, _ = run("fetch", "eegbci", *options)
    assert asked == [1, 2, 5]
    mapping = tmp_path / "imagined-fists.toml"
    assert f'Next: cadda search "{mapping}" --model shallow --out run' in out
    assert "Slow activity, probably of the eyes, tells left from right" in out
    assert tomllib.loads(mapping.read_text())["files"][:2] == ["S001R04.edf", "S001R08.edf"]
    out, _ = run("fetch", "eegbci", *options, "--json")
    assert json.loads(out) == {"mapping": str(mapping), "subjects": 3}


def test_fetch_without_network(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def fetch_data(**_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(mne.datasets.sleep_physionet.age, "fetch_data", fetch_data)
    _, err = run("fetch", "sleep-physionet", "--subjects", "3", code=2)
    assert "cannot download night 1 of subject 3" in err
    assert "0 of 2 nights are complete" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mass"], "No such command 'mass'"),
        (
            ["eegbci", "--out", "new", "--subjects", "0-3"],
            "`--subjects` must be numbers from 1 to",
        ),
        (["sleep-physionet", "--subjects", "a-b"], "`--subjects` must be numbers such as 0-4,7"),
        (["sleep-physionet", "--subjects", "4-0"], "`--subjects` must be numbers such as 0-4,7"),
        (["sleep-physionet", "--subjects", "90"], "`--subjects` must be numbers from 0 to 82"),
        (["sleep-physionet", "--recordings", "3"], "`--recordings` must be 1, 2 or both, got [3]"),
    ],
)
def test_fetch_refuses(run: Run, arguments: list[str], message: str) -> None:
    _, err = run("fetch", *arguments, code=2)
    assert message in err


def run_cache(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(cache)
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_cache(tmp_path: Path, cache_folder: Path, write_night: WriteNight, run: Run) -> None:
    assert f"{cache_folder}: 0 entries, 0 bytes" in run_cache().replace("\n", "")
    assert json.loads(run_cache("--json"))["entries"] == []
    nights = tmp_path / "nights"
    write_night(nights, "SC4001")
    write_night(nights, "SC4011", seed=1)
    run("info", str(nights))
    run("info", str(nights), "--classes", "W,N2")
    report = json.loads(run_cache("--json"))
    on_disk = sum(file.stat().st_size for file in cache_folder.rglob("*.*"))
    assert report["folder"] == str(cache_folder)
    assert report["bytes"] == on_disk
    kinds = sorted((entry["kind"], entry["windows"]) for entry in report["entries"])
    assert kinds == [("recording", 12), ("recording", 12), ("selection", 8), ("selection", 24)]
    assert report["entries"][0]["recordings"] == ["SC4001", "SC4011"]
    shown = run_cache()
    assert "4 entries, 1.3 MB" in shown
    assert "SC4001, SC4011" in shown
    assert "cadda data cache --clear" in shown
    assert "Removed 0 entries" in run_cache("--verify")
    write_night(nights, "SC4011", seed=2)
    assert len(json.loads(run_cache("--verify", "--json"))["entries"]) == 3
    assert "Removed 1 entry" in run_cache("--clear")
    assert list(cache_folder.iterdir()) == []


def test_cache_with_many_and_damaged_entries(
    tmp_path: Path, cache_folder: Path, write_night: WriteNight, run: Run
) -> None:
    write_night(tmp_path / "nights")
    run("info", str(tmp_path / "nights"))
    entries = list(cache_folder.iterdir())
    for i in range(20):
        (cache_folder / f"{i:040x}").mkdir()
    for entry in entries:
        (entry / "x.npy").write_bytes(b"cut off")
    shown = run_cache()
    assert "damaged, ignored" in shown
    assert "and 2 more" in shown
    assert "SC4001" not in shown


def test_cache_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CADDA_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cannot read the cache .*; set CADDA_CACHE to another"):
        run_cache()


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_amplitudes_in_a_wrong_unit_are_noted(unit: float, tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    events = np.column_stack([np.arange(8) * 100, np.zeros(8), np.arange(8) % 2]).astype(int)
    x = 40 * unit * rng.standard_normal((8, 2, 100))
    epochs = mne.EpochsArray(x, info, events, event_id={"a": 0, "b": 1}, verbose="error")
    epochs.save(tmp_path / "a-epo.fif", verbose="error")
    out, _ = run("info", str(tmp_path / "a-epo.fif"))
    assert ("if these are in µV, multiply them by 1e-6" in out) == (unit == 1.0)


def test_info_with_preprocessing(tmp_path: Path, run: Run, cache_folder: Path) -> None:
    """A pattern, and options of the preprocessing; what was done is printed."""
    rng = np.random.default_rng(0)
    for name in ("s1_raw.fif", "s2_raw.fif"):
        info = mne.create_info(["C3", "Cz", "C4"], 100.0, "eeg")
        raw = mne.io.RawArray(2e-5 * rng.standard_normal((3, 3000)), info, verbose="error")
        raw._data[0, 500] = 1e-3
        raw.set_annotations(mne.Annotations([4.0, 10.0, 16.0, 22.0], 3.0, list("abab")))
        raw.save(tmp_path / name, verbose="error")
    pattern = str(tmp_path / "*_raw.fif")
    out, _ = run("info", pattern, "--subject", "(s.)_")
    assert "8 windows of 3 channels × 3 s at 100 Hz, 2 subjects; a 4, b 4" in out
    assert "preprocessing: no high-pass, low-pass 30 Hz, reference as recorded\n" in out
    assert "note: there is no high-pass of 1 Hz or more: slow activity, such as that of" in out
    assert "compare with `--highpass 4`" in out
    defaults = "no high-pass, low-pass 30 Hz, reference as recorded"
    task = "task, by the names of the classes: other"
    length = "windows as long as the shortest annotation"
    assert f"{task}; defaults: {defaults}, {length}\n" in out
    options = (
        *("--subject", "(s.)_", "--highpass", "4", "--lowpass", "none", "--notch", "20,40"),
        *("--reference", "average", "--window-seconds", "2", "--offset", "0.5"),
        *("--baseline-seconds=-0.2,0", "--reject", "300e-6", "--sfreq", "50"),
    )
    out, _ = run("info", pattern, *options)
    assert "6 windows of 3 channels × 2 s at 50 Hz, 2 subjects; a 2, b 4" in out
    assert (
        "preprocessing: high-pass 4 Hz, no low-pass, notch 20, 40 Hz, average reference, "
        "resampled to 50 Hz, baseline -0.2 to 0 s, windows above 300 µV rejected\n"
    ) in out
    assert "windows rejected by amplitude: 2, not counted above" in out
    assert "note:" not in out
    report = json.loads(run("info", pattern, *options, "--json")[0])
    assert report["preprocessing"]["notch"] == [20, 40]
    assert report["task"] == "other"
    # Options do not change them.
    assert report["defaults"] == f"{defaults}, {length}"
    assert report["n_rejected"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--highpass", "slow"], "`--highpass` must be a valid number, got 'slow'"),
        (["--window-seconds", "0"], "`--window-seconds` must be above 0, got '0'"),
        (["--baseline-seconds", "1"], "`--baseline-seconds` must be two numbers"),
        (["--reject", "150"], "`--reject` must be in volts, such as 150e-6"),
        (["--highpass", "40"], "`--highpass` must be below `--lowpass`, 30 Hz, got 40 Hz"),
        (["--offset", "1"], "`--offset` must be 0 for nights, got 1"),
        (["--reference", "M1,M2"], "`--reference` must be in the recording, but"),
    ],
)
def test_mistakes_in_preprocessing(
    tmp_path: Path, write_night: WriteNight, run: Run, options: list[str], message: str
) -> None:
    write_night(tmp_path)
    _, err = run("info", str(tmp_path), *options, code=2)
    assert message in err


def test_stage_4_is_merged_and_said(tmp_path: Path, write_night: WriteNight, run: Run) -> None:
    write_night(tmp_path)
    out, _ = run("info", str(tmp_path))
    assert "N3 4" in out
    merged = "note: stages 3 and 4 are merged into N3; `--keep-stage-4` keeps N4"
    assert merged in out
    out, _ = run("info", str(tmp_path), "--keep-stage-4")
    assert "W 2, N1 2, N2 2, N3 2, N4 2, R 2" in out
    assert "merged" not in out


def test_preprocessing_of_epochs(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    windows = Windows(
        rng.standard_normal((8, 2, 300)),
        [0, 1] * 4,
        subject=list("aabbccdd"),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["left", "right"],
    )
    windows.to_epochs().save(tmp_path / "w-epo.fif", verbose="error")
    out, _ = run("info", str(tmp_path / "w-epo.fif"))
    assert "preprocessing: none, signals as in the source" in out
    task = "task, by the names of the classes: movement or imagery"
    assert f"{task}; defaults: none, signals as in the source\n" in out
    assert "note: there is no high-pass of 4 Hz or more: in movement and imagery, slow" in out
    assert "can tell left from right; remove it with `--highpass 4`\n" in out
    out, _ = run("info", str(tmp_path / "w-epo.fif"), "--highpass", "4", "--label", "subject")
    assert "preprocessing: high-pass 4 Hz, no low-pass" in out
    assert "note: there is no high-pass" not in out
    assert "a 2, b 2, c 2, d 2" in out


def test_several_files_are_read_as_their_folder(
    tmp_path: Path, write_edf: WriteNight, run: Run
) -> None:
    """A pattern without quotes is expanded by the shell."""
    notes = [(1.0, 2.0, "left"), (5.0, 2.0, "right")]
    noise = 20 * np.random.default_rng(0).standard_normal((2, 1000))
    files = [
        write_edf(tmp_path / f"{name}.edf", {"Cz": row}, annotations=notes)
        for name, row in zip("ab", noise, strict=True)
    ]
    assert run("info", *map(str, files))[0] == run("info", str(tmp_path))[0]
    out, _ = run("info", *map(str, files), "--json")
    assert json.loads(out)["data"] == f"{tmp_path}, 2 files"
    out, _ = run("info", str(tmp_path / "*.edf"), "--json")
    assert json.loads(out)["data"] == f"{tmp_path}, 2 files"
    options = ReadingOptions()
    source = options.reading(files).arguments["source"]
    assert (
        source == options.reading(files[::-1]).arguments["source"] == [str(file) for file in files]
    )
    assert torch.equal(options.read(files[::-1]).x, read_windows(source).x)


@pytest.fixture
def tasks(tmp_path: Path, write_edf: Callable[..., Path]) -> list[Path]:
    """Two subjects at rest and with a task."""
    rng = np.random.default_rng(0)
    events = [(2.0, 4.0, "left = 1"), (8.0, 4.0, "right")]
    return [
        write_edf(
            tmp_path / "data" / f"{subject}_{task}.edf",
            {name: 20 * rng.standard_normal(2000) for name in ("C3", "C4")},
            annotations=events,
        )
        for subject in ("s1", "s2")
        for task in ("rest", "task")
    ]


def test_info_with_the_rules_of_mapping_files(tasks: list[Path], run: Run) -> None:
    common = ("info", str(tasks[0].parent), "--subject", "^(s[0-9])", "--json")
    names = ("--class-map", "*_rest.edf=rest", "--class-map", "*_task*=go")
    by_file = (*common, "--class-from", "file", *names)
    out, _ = run(*by_file, "--window-seconds", "2")
    assert json.loads(out)["classes"] == {"rest": 20, "go": 20}
    out, _ = run(*by_file, "--within", "left*,other")
    assert json.loads(out)["classes"] == {"rest": 2, "go": 2}
    assert json.loads(out)["seconds"] == 4
    merged = ("--class-map", "left = 1=l", "--class-map", "right= r ")
    out, _ = run(*common, *merged, "--repeat", "--window-seconds", "1", "--transition", "3")
    assert json.loads(out)["classes"] == {"l": 16, "r": 16}
    assert json.loads(out)["preprocessing"]["transition"] == 3
    table = tasks[0].parent / "groups.tsv"
    table.write_text("participant_id\tgroup\ns1\ta\ns2\tb")
    rules = ("--class-from", "participants:group", "--participants", "groups.tsv")
    out, _ = run(*common, *rules, "--window-seconds", "2")
    assert json.loads(out)["classes"] == {"a": 20, "b": 20}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--class-map", "left"), "`--class-map` must be PATTERN=CLASS, got 'left'"),
        (("--class-map", "=left"), "`--class-map` must be PATTERN=CLASS, got '=left'"),
        (
            ("--class-map", "a=b", "--class-map", "a=c"),
            "`--class-map` must assign 'a' to one class, got 'b' and 'c'",
        ),
        (("--class-from", "file"), "`--class-map` must be given with `--class-from`='file'"),
        (("--within", "left"), "`--within` is for classes that are not those of annotations"),
    ],
)
def test_wrong_rules(tasks: list[Path], options: tuple[str, ...], message: str, run: Run) -> None:
    _, err = run("info", str(tasks[0].parent), *options, code=2)
    assert message in err


def test_rules_are_recorded(tasks: list[Path]) -> None:
    """What a report prints reads the same windows."""
    options = ReadingOptions(
        subject="^(s[0-9])",
        class_from="file",
        class_map=["*_rest.edf=rest", "*_task.edf=task"],
        within="left*",
        repeat=True,
        window_seconds="1",
        transition="3",
    )
    reading = options.reading(tasks)
    assert reading.arguments["class_map"] == {"*_rest.edf": "rest", "*_task.edf": "task"}
    assert reading.preprocessing is not None
    assert reading.preprocessing["transition"] == 3
    assert Reading(**json.loads(json.dumps(asdict(reading)))) == reading
    windows = options.read(tasks)
    assert len(windows) == 16
    again = eval(read_call(reading), {"cadda": cadda})  # noqa: S307
    assert torch.equal(again.x, windows.x)
    assert torch.equal(again.y, windows.y)
    by_group = ReadingOptions(class_from="participants:group", participants="groups.tsv")
    call = read_call(by_group.reading(tasks))
    assert 'class_from="participants:group", participants="groups.tsv"' in call


def test_defaults_of_a_mapping_file(tasks: list[Path], run: Run) -> None:
    mapping = tasks[0].parent / "mapping.toml"
    classes = '[classes]\n"left*" = "left hand"\nright = "right hand"'
    mapping.write_text(f"seconds = 2.0\nhighpass = 2.0\nsubject = '^(s.)'\n{classes}")
    out, _ = run("info", str(mapping), "--highpass", "5")
    defaults = "high-pass 2 Hz, low-pass 38 Hz, reference as recorded, windows of 2 s"
    defaults = f"with those of the mapping file, {defaults}"
    assert f"movement or imagery; defaults: {defaults}\n" in out
    assert "preprocessing: high-pass 5 Hz" in out
    assert "note:" not in out
    out, _ = run("info", str(mapping))
    assert "note: there is no high-pass of 4 Hz or more" in out


def test_merged_stages_are_sleep(tmp_path: Path, write_night: WriteNight, run: Run) -> None:
    write_night(tmp_path, stages=["W", "1", "2", "3", "R"])
    merged = ("--class-map", "W=awake", "--class-map", "N*=asleep")
    report = json.loads(run("info", str(tmp_path), *merged, "--json")[0])
    assert report["classes"] == {"awake": 1, "asleep": 3}
    assert report["task"] == "sleep stages"
    assert report["notes"] == []


def test_one_note_on_the_unit_of_signals(tmp_path: Path, run: Run) -> None:
    """Saved windows stay as they are and must be standardised; other arrays are anyway."""
    x = 690 * np.random.default_rng(0).standard_normal((20, 2, 100))
    arrays = {"x": x, "y": np.arange(20) % 2, "subject": np.repeat(list("abcd"), 5)}
    saved, plain = tmp_path / "saved.npz", tmp_path / "plain.npz"
    Windows(**arrays, sfreq=100.0).save(saved)
    np.savez(plain, **arrays, sfreq=100.0)
    for file, expected, other in (
        (saved, "have a standard deviation of 6.9e+02", "multiply them by 1e-6"),
        (plain, "multiply them by 1e-6", "have a standard deviation"),
    ):
        out, _ = run("info", str(file))
        assert expected in out
        assert other not in out
        assert (
            sum(
                expected in note
                for note in json.loads(run("info", str(file), "--json")[0])["notes"]
            )
            == 1
        )


def test_info_of_measurements(tmp_path: Path, run: Run) -> None:
    pandas = pytest.importorskip("pandas")
    events = np.column_stack([np.arange(30), np.zeros(30, int), 1 + np.arange(30) % 2])
    table = pandas.DataFrame({"subject": list("abc") * 10, "rt": np.arange(30) / 100})
    data = 1e-5 * np.random.default_rng(0).standard_normal((30, 2, 100))
    epochs = mne.EpochsArray(
        data, mne.create_info(["C3", "C4"], 100.0, "eeg"), events, metadata=table, verbose="error"
    )
    epochs.save(tmp_path / "a-epo.fif", verbose="error")
    out, _ = run("info", str(tmp_path / "a-epo.fif"), "--label", "rt", "--json")
    expected = "the column 'rt' has 30 different values in 30 windows, so they are hardly classes"
    assert [expected in note for note in json.loads(out)["notes"]].count(True) == 1
