"""Training and evaluation on the command line, interrupted and resumed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import CADDA, run
from sklearn.metrics import balanced_accuracy_score
from tiny_commands import tiny_windows

from cadda import Windows, fit, read_windows, simulate_motor_imagery, simulate_sleep
from cadda.cli.display import print_subjects
from cadda.data.splits import Split, make_split
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.provenance import Provenance
from cadda.reporting.records import Predictions
from cadda.runs.folder import DataSource, RunFolder, TrainingConfig
from cadda.training import TrainingSettings, score_subjects

QUICK = ["--model", "shallow", "--batch-size", "32", "--seed", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    simulate_sleep(n_subjects=5, n_windows=40).save(folder / "sleep.npz")
    (folder / "policy.txt").write_text("sign_flip p=0.5 > time_mask p=0.5 m=0.3\n")
    return folder


def test_a_policy_of_other_preprocessing(data: Path, tmp_path: Path) -> None:
    policy = PolicySpec.from_text("sign_flip p=0.5")
    told = {}
    for found in (None, {"standardise": "auto"}, {"highpass": 4.0, "standardise": "auto"}):
        provenance = Provenance(preprocessing=found)
        path, name = tmp_path / "policy.json", f"run-{len(told)}"
        policy.model_copy(update={"provenance": provenance}).save(path)
        arguments = ["train", data / "sleep.npz", "--policy", path, "--out", tmp_path / name]
        told[name] = run(*arguments, "--max-epochs", "1", *QUICK).stderr
    message = "read with highpass=4, but these were read with highpass=auto"
    assert [message in text for text in told.values()] == [False, False, True]


def test_a_policy_that_is_no_augmentation_is_said(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    PolicySpec.from_text("none").save(path)
    out = ("--out", tmp_path / "run", "--max-epochs", "1", *QUICK)
    told = run("train", data / "sleep.npz", "--policy", path, *out).stderr
    assert "note: " in told
    assert "none.json is no augmentation: windows are used as they are" in told.replace("\n", "")


def test_a_policy_in_short_form(data: Path, tmp_path: Path) -> None:
    arguments = ("train", data / "sleep.npz", "--max-epochs", "1", *QUICK)
    run(*arguments, "--out", tmp_path / "run", "--policy", "sign_flip p=0.5")
    found = PolicySpec.load(tmp_path / "run" / "policy.json")
    assert found.entries == PolicySpec.from_text("sign_flip p=0.5").entries
    mirror = tmp_path / "mirror.txt"
    mirror.write_text("channel_symmetry p=1\n")
    compared = ("compare", data / "sleep.npz", "--folds", "2", "--max-epochs", "1")
    for name, refused in (
        ("`--policy`", run(*arguments, "--out", tmp_path / "b", "--policy", mirror, code=2)),
        (mirror, run(*compared, "--out", tmp_path / "c", "--methods", f"none,{mirror}", code=2)),
    ):
        told = " ".join(refused.stderr.split())
        assert f"{name} does not fit the data: `channel_symmetry` is not" in told
        assert "no channel has a partner" in told
        assert "pool" not in told


def test_notes_on_data_are_printed_once(tmp_path: Path) -> None:
    windows = simulate_motor_imagery(n_subjects=5, n_windows=8, seed=0)
    windows.to_epochs().save(tmp_path / "a-epo.fif", verbose="error")
    out = tmp_path / "run"
    told = run("train", tmp_path / "a-epo.fif", "--out", out, "--max-epochs", "1", *QUICK).stderr
    slow, few = (line for line in told.splitlines() if "high-pass" in line or "testing" in line)
    assert slow.startswith("note: ")
    assert slow.endswith("`--highpass 4`")
    assert few.startswith("Only 1 of 5 subjects is for testing: no gain can be")
    # What is a note about the data is no warning of the run.
    (session,) = json.loads((out / "sessions.json").read_text())
    assert session["warnings"] == [few]


def test_classes_are_those_of_the_options_when_a_run_is_resumed(tmp_path: Path) -> None:
    data, out = tmp_path / "a.npz", tmp_path / "run"
    simulate_sleep(n_subjects=5, n_windows=20).save(data)
    wake = ["--class-map", "W=wake", "--class-map", "N*=sleep"]
    arguments = ["train", data, "--out", out, "--max-epochs", "1", *QUICK]
    run(*arguments, *wake)
    reading = json.loads((out / "config.json").read_text())["reading"]["arguments"]
    assert reading["class_map"] == {"W": "wake", "N*": "sleep"}
    assert json.loads((out / "data.json").read_text())["class_names"] == ["wake", "sleep"]
    run(*arguments, *wake)
    other = run(*arguments, "--class-map", "W=wake", "--class-map", "N*=nrem", code=2).stderr
    assert "`--class-map" in other
    assert "nrem" in other


def test_train_and_evaluate(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "2", *QUICK]
    shown = run(*arguments, "--policy", data / "policy.txt").stdout
    assert "balanced accuracy" in shown
    assert str(out) in shown.replace("\n", "")
    assert sorted(file.name for file in out.iterdir()) == [
        "checkpoint.pt",
        "config.json",
        "data.json",
        "digests.json",
        "events.jsonl",
        "examples.npz",
        "model.safetensors",
        "policy.json",
        "predictions.npz",
        "scores.json",
        "sessions.json",
    ]
    plain, none = tmp_path / "none", tmp_path / "none.txt"
    none.write_text("none\n")
    run("train", data / "sleep.npz", "--out", plain, "--max-epochs", "1", "--policy", none, *QUICK)
    assert json.loads((plain / "policy.json").read_text())["policy"] == {"*": []}
    assert not (plain / "examples.npz").exists()
    refused = run("evaluate", out, data / "sleep.npz", code=2)
    assert "skip them with `--skip-seen`" in refused.stderr
    shown = run("evaluate", out, data / "sleep.npz", "--skip-seen").stdout
    (tested,) = json.loads((out / "scores.json").read_text())["test_subjects"]
    assert re.search(rf"│ {tested} +│ +40 │", shown)
    assert "intervals over 40 windows of one subject, not over people." in shown
    scores = json.loads(run("evaluate", out, data / "sleep.npz", "--skip-seen", "--json").stdout)
    assert scores.items() <= json.loads((out / "scores.json").read_text()).items()
    other = run(*arguments, code=2)
    assert "contains a training with another `--policy`" in other.stderr


def test_groups_of_an_earlier_run(data: Path, tmp_path: Path) -> None:
    """Another preprocessing with another seed, and what is said before the run."""
    other = tmp_path / "other.npz"
    simulate_sleep(n_subjects=5, n_windows=25, seed=3)[::-1].save(other)
    first, second = tmp_path / "first", tmp_path / "second"
    options = ["--max-epochs", "1", "--model", "shallow"]
    shown = run("train", data / "sleep.npz", "--out", first, "--seed", "4", *options)
    few = "Only 1 of 5 subjects is for testing: no gain can be distinguished from chance"
    assert shown.stderr.startswith(few)
    shown = run("train", other, "--out", second, "--split-from", first, *options)
    assert shown.stderr.startswith(few)
    splits = [
        json.loads((folder / "config.json").read_text())["split"] for folder in (first, second)
    ]
    assert [{part: sorted(names) for part, names in split.items()} for split in splits] == [
        {part: sorted(names) for part, names in splits[0].items()}
    ] * 2
    assert json.loads((second / "data.json").read_text())["split"]["split_from"] == str(first)
    both = run(
        "train", other, "--out", tmp_path / "x", "--split-from", first, "--test", "0.2", code=2
    )
    assert "pass `--test` or `--split-from`, not both" in both.stderr
    none = run("train", other, "--out", tmp_path / "x", "--split-from", tmp_path, code=2)
    assert "is not the folder of a training run or a search" in none.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "time_reverse p=0.5 -> {N2: N5, N5: N2}",
            "cadda: a label map must name classes of the data, ['W', 'N1', 'N2', 'N3', 'R'], got "
            "'N5'.",
        ),
        (
            "[N2]\ntime_reverse p=0.5 -> N3\n[N3]\ntime_reverse p=0.5 -> N2",
            "cadda: `--policy` must be for the classes of the windows, ['W', 'N1', 'N2', 'N3', "
            "'R'], got one for ['N2', 'N3'].",
        ),
        ("time_reverse p=0.5 -> {N2: N3", "line 1: `{N2: N3` lacks a closing brace"),
        ("time_reverse p=0.5 -> {N2: N3}", "say what 'N3' becomes."),
    ],
)
def test_label_maps_that_do_not_fit(data: Path, tmp_path: Path, text: str, message: str) -> None:
    policy, out = tmp_path / "policy.txt", tmp_path / "run"
    policy.write_text(text)
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "1", *QUICK]
    said = run(*arguments, "--policy", policy, code=2).stderr
    assert message in said.replace("\n", " ")
    assert "Traceback" not in said
    assert not out.exists()


def test_a_model_that_learns_nothing_is_reported(data: Path, tmp_path: Path) -> None:
    """In the terminal, in the words of the command line, and in the report."""
    out = tmp_path / "run"
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "1", "--lr", "1e-9"]
    said = run(*arguments, *QUICK).stderr
    assert "Warning: the validation loss is not below chance: at best" in said
    assert "try another `--lr`, more `--max-epochs` or `--patience`" in said
    run("report", out)
    page = (out / "report.html").read_text("utf-8")
    assert "trained without augmentation, the validation loss is not below chance" in page


def test_folds(data: Path, tmp_path: Path) -> None:
    """Each subject is tested once, by a model that has not seen it; nothing is done twice."""
    out = tmp_path / "run"
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "1", *QUICK]
    shown = run(*arguments, "--folds", "2").stdout
    assert "5 test subjects, 2 models" in shown
    assert "95 % bootstrap intervals over 5 subjects, too narrow with so few." in shown
    folds = [RunFolder(out / f"fold-{number}") for number in (1, 2)]
    windows = read_windows(data / "sleep.npz")
    splits = [fold.read_config().split for fold in folds]
    assert sorted(name for split in splits for name in split.test) == sorted(windows.subjects)
    for split in splits:
        assert not {*split.train, *split.valid} & {*split.test}
        assert len(split.train) + len(split.valid) + len(split.test) == 5
    parts = [Predictions.load(fold.predictions) for fold in folds]
    scores = json.loads((out / "scores.json").read_text())
    truth, predicted = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("truth", "predicted")
    )
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, predicted))
    assert list(scores["by_subject"]) == sorted(windows.subjects)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("checkpoint.pt")}
    assert len(before) == 2
    assert json.loads(run(*arguments, "--folds", "2", "--json").stdout).items() <= scores.items()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "with other training subjects: " in run(*arguments, "--folds", "3", code=2).stderr
    assert "fold 1 of 2" in Path(run("report", out / "fold-1").stdout.strip()).read_text("utf-8")
    assert f"`cadda report {out}` writes a report" in shown


def test_folds_and_a_single_split_do_not_share_a_folder(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "1", *QUICK]
    run(*arguments)
    said = run(*arguments, "--folds", "2", code=2).stderr
    assert "contains a run without `--folds`; choose another folder" in said
    other = run(*arguments, "--folds", "2", "--test", "0.2", code=2).stderr
    assert "pass `--folds`, or `--test` or `--split-from`, not both." in other


def test_reading_options(data: Path, tmp_path: Path) -> None:
    """Windows in volts are standardised, a rare class is left out."""
    sleep = read_windows(data / "sleep.npz")
    rare = sleep.class_names[int(sleep.class_counts().argmin())]
    most = int(sorted(sleep.class_counts())[0]) + 1
    volts = Windows(
        1e-5 * sleep.x,
        sleep.y,
        subject=sleep.subject,
        sfreq=sleep.sfreq,
        ch_names=sleep.ch_names,
        class_names=sleep.class_names,
    )
    volts.save(tmp_path / "volts.npz")
    out = tmp_path / "run"
    options = ["--min-windows", str(most), "--standardise", "window"]
    training = ["--max-epochs", "1", "--monitor", "balanced_accuracy", *QUICK, *options]
    policy = ["--policy", data / "policy.txt"]
    said = run("train", tmp_path / "volts.npz", "--out", out, *training, *policy).stderr
    # There would be a warning that the windows are in volts.
    assert "standard deviation" not in said
    config = json.loads((out / "config.json").read_text())
    assert config["training"]["monitor"] == "balanced_accuracy"
    scores = json.loads((out / "scores.json").read_text())
    assert rare not in scores["f1_per_class"]
    evaluated = run(
        "evaluate", out, tmp_path / "volts.npz", "--skip-seen", "--json", *options
    ).stdout
    assert json.loads(evaluated).items() <= scores.items()


def test_evaluate_on_another_data_set(data: Path, tmp_path: Path) -> None:
    """Equal names of subjects, channels written otherwise, one class that does not occur."""
    out = tmp_path / "run"
    run("train", data / "sleep.npz", "--out", out, "--max-epochs", "1", *QUICK)
    other = simulate_sleep(n_subjects=2, n_windows=40, seed=7)
    other = other[(other.y != other.class_names.index("N1")).numpy()]
    renamed = Windows(
        other.x,
        other.y,
        subject=other.subject,
        sfreq=other.sfreq,
        ch_names=["EEG FPZ-CZ", "Pz-Oz."],
        class_names=other.class_names,
    )
    renamed.save(tmp_path / "other.npz")
    refused = run("evaluate", out, tmp_path / "other.npz", code=2).stderr
    assert "`--different-subjects` if they are other people" in refused.replace("\n", " ")
    said = run("evaluate", out, tmp_path / "other.npz", "--different-subjects", "--json").stdout
    assert sum(map(sum, json.loads(said)["confusion"])) == len(other)


def test_a_class_that_validation_lacks_is_said_at_the_end(tmp_path: Path) -> None:
    windows = simulate_motor_imagery(n_subjects=8, n_windows=8, seed=0)
    valid = set(make_split(windows, valid=0.2, test=None, seed=1).valid)
    has_all = (windows.y == 0).numpy() | ~np.isin(windows.subject, sorted(valid))
    windows[has_all].save(tmp_path / "a.npz")
    name = windows.class_names[1]
    arguments = ("train", tmp_path / "a.npz", "--out", tmp_path / "run", "--max-epochs", "1")
    told = run(*arguments, *QUICK).stderr
    said = [line for line in told.splitlines() if f"no windows of '{name}'" in line]
    assert len(said) == 1
    assert said[0].startswith("Warning: validation has no windows of")
    assert all(repr(subject) in said[0] for subject in valid)
    assert "another `--seed` or a larger `--valid`" in said[0]
    assert f"(without {name})" in " ".join(told.split())


def test_table_of_subjects_says_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    y, subject = torch.arange(8) % 2, np.repeat(["b", "a"], 4)
    right = score_subjects(y, y, subject, ["left", "right"])
    wrong = score_subjects(
        y, torch.where(torch.arange(8) < 4, y, 1 - y), subject, ["left", "right"]
    )
    print_subjects({"": wrong})
    shown = capsys.readouterr().out
    assert "by subject, lowest balanced accuracy first" in shown
    assert shown.index("│ a ") < shown.index("│ b ")
    print_subjects({"no augmentation": right, "with the policy": wrong})
    shown = " ".join(capsys.readouterr().out.split())
    assert "by subject, lowest of the last column first" in shown


def test_a_subject_of_one_class_has_no_score_over_classes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    y, subject = np.array([0, 1, 0, 1, 0, 0]), np.repeat(["a", "b", "c"], 2)
    predicted = np.array([0, 1, 1, 1, 0, 0])
    scores = score_subjects(y, predicted, subject, ("left", "right"))
    assert scores.balanced_accuracy == balanced_accuracy_score(y, predicted)
    print_subjects({"": scores})
    shown = capsys.readouterr().out
    rows = {line.split()[1]: line.split()[5::2] for line in shown.splitlines() if "│" in line}
    assert rows == {"a": ["1.000"] * 3, "b": ["0.500", "0.333", "0.000"], "c": ["–"] * 3}
    assert list(rows) == ["b", "a", "c"]
    assert "–: the subject has windows of one class only" in shown
    frame = scores.to_frame("subject").set_index("subject")
    assert frame["n_classes"].tolist() == [2, 2, 1]
    over_classes = frame[["balanced_accuracy", "macro_f1", "kappa"]]
    assert over_classes.isna().all(axis=1).tolist() == [False, False, True]
    assert frame["accuracy"].tolist() == [1.0, 0.5, 1.0]
    json.dumps(scores.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ch_names": ("Pz-Oz", "Fpz-Cz")}, "choose them with `--channels`"),
        ({"class_names": ("W", "N1", "N2", "N3", "REM")}, "choose them with `--classes`"),
        ({"sfreq": 50.0}, "100.0, but the data have 50.0; read them with this `--sfreq`"),
    ],
)
def test_evaluate_refuses_what_does_not_fit(
    changes: dict[str, Any], message: str, data: Path, tmp_path: Path
) -> None:
    sleep = read_windows(data / "sleep.npz")
    train, valid, test = sleep.split()
    fit(train, valid, model="shallow", max_epochs=1).save(tmp_path / "model.safetensors")
    config = TrainingConfig(
        model="shallow",
        training=TrainingSettings(),
        policy=None,
        reading=None,
        data=DataSource("sleep.npz", "a", "b", "c"),
        split=Split((), ()),
    )
    config.save(RunFolder(tmp_path).config)
    kept = ("subject", "sfreq", "ch_names", "class_names")
    arguments = {name: getattr(test, name) for name in kept} | changes
    Windows(test.x, test.y, **arguments).save(tmp_path / "other.npz")
    assert message in run("evaluate", tmp_path, tmp_path / "other.npz", code=2).stderr


def test_paths_through_a_file(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments in (
        ["train", data / "sleep.npz", "--out", tmp_path / "file" / "run", *QUICK],
        ["evaluate", tmp_path / "file", data / "sleep.npz"],
        ["operations", "--picture", tmp_path / "file" / "x.png"],
    ):
        said = run(*arguments, code=2).stderr
        assert "Errno" not in said
        assert said.endswith(".\n")


def test_interrupted_training_is_resumed(data: Path, tmp_path: Path) -> None:
    arguments = ["train", data / "sleep.npz", "--max-epochs", "6", *QUICK, "--json", "--out"]
    whole = run(*arguments, tmp_path / "whole").stdout
    out = tmp_path / "interrupted"
    process = subprocess.Popen(
        [CADDA, *map(str, arguments), str(out)], stderr=subprocess.PIPE, text=True
    )
    events = out / "events.jsonl"
    while not (events.exists() and events.read_text().count("\n") >= 2):
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # It may have been quicker than the signal.
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert "resume with the same command" in said
        assert "Traceback" not in said
    assert run(*arguments, out).stdout == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "chambon2019"], "did you mean `chambon2018`"),
        (["--policy", "none.json"], "none.json cannot be read"),
        (["--valid", "0.5", "--test", "0.5"], "leave something for training"),
        (["--classes", "W,N7"], "N7"),
        (["--channels", "Fpz-Cx"], "Fpz-C"),
        (["--device", "gpu"], "'gpu' is not one of"),
    ],
)
def test_mistakes(arguments: list[str], message: str, data: Path, tmp_path: Path) -> None:
    done = run("train", data / "sleep.npz", "--out", tmp_path / "run", *arguments, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_settings_of_operations(data: Path, tmp_path: Path) -> None:
    """Those of the command, except where the policy has its own."""
    policy, out = tmp_path / "policy.txt", tmp_path / "run"
    policy.write_text("frequency_shift p=0.5 m=0.4 max_shift=10\ntime_mask p=0.5 m=0.3\n")
    command = ["train", data / "sleep.npz", "--policy", policy, "--max-epochs", "1", *QUICK]
    settings = ["--operation-setting", "time_mask.max_length=3"]
    run(*command, *settings, "--out", out)
    used = PolicySpec.load(out / "policy.json").operations
    assert used["time_mask"]["max_length"] == 3
    assert used["frequency_shift"]["max_shift"] == 10
    failed = run(*command, "--out", out, code=2).stderr
    assert "another `--policy`" in failed  # other settings are another run
    other = ["--operation-setting", "frequency_shift.max_shift=4"]
    said = run(*command, *other, "--out", tmp_path / "other").stderr
    assert "the policy has its own settings of frequency_shift, {'max_shift': 10.0}" in said
    assert "`--operation-setting`" in said
    used = PolicySpec.load(tmp_path / "other" / "policy.json").operations
    assert used["frequency_shift"]["max_shift"] == 10
    more = ["--operation-setting", "frequency_shift.symmetric=true"]
    unused = ["--operation-setting", "bandstop.max_width=3"]
    said = run(*command, *more, *unused, "--out", tmp_path / "more").stderr
    assert "the policy does not use bandstop" in said
    used = PolicySpec.load(tmp_path / "more" / "policy.json").operations
    assert used["frequency_shift"] == {"max_shift": 10, "symmetric": True}


def test_settings_of_operations_change_the_model(data: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.txt"
    policy.write_text("time_mask p=1 m=1\n")
    command = ["train", data / "sleep.npz", "--policy", policy, "--max-epochs", "1", *QUICK]
    settings = ["--operation-setting", "time_mask.max_length=10"]
    run(*command, "--out", tmp_path / "default")
    run(*command, *settings, "--out", tmp_path / "longer")
    first, second = (
        (tmp_path / name / "events.jsonl").read_text() for name in ("default", "longer")
    )
    assert json.loads(first.splitlines()[0]) != json.loads(second.splitlines()[0])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "`--operation-setting` has no effect without `--policy`; pass both."),
        (["--policy", "policy.txt"], "`--operation-setting`: operation `time_mask` has no"),
    ],
)
def test_wrong_settings_of_operations(
    more: list[str], message: str, data: Path, tmp_path: Path
) -> None:
    more = [str(data / part) if part.endswith(".txt") else part for part in more]
    setting = "time_mask.max_len=3"
    arguments = ["train", data / "sleep.npz", "--out", tmp_path / "run", *more]
    failed = run(*arguments, "--operation-setting", setting, code=2).stderr
    assert message in " ".join(failed.split())
    assert not (tmp_path / "run").exists()


def test_lost_windows_are_told_once(tmp_path: Path) -> None:
    windows = tiny_windows()
    x = windows.x.clone()
    x[3, 0] = 0
    arrays = {"y": windows.y, "subject": windows.subject, "ch_names": ["C3", "C4"]}
    np.savez(tmp_path / "flat.npz", x=x, sfreq=100.0, **arrays)
    options = ["--drop-bad", "--out", tmp_path / "run", "--max-epochs", "1", "--model", "shallow"]
    said = run("train", tmp_path / "flat.npz", *options).stderr
    lost = "1 of 64 windows have NaN or a flat channel and are not used: "
    assert said.count("flat channel") == said.count(f"note: {lost}") == 1
    run("report", tmp_path / "run")
    assert (tmp_path / "run" / "report.html").read_text().count(lost) == 1
    assert run("data", "info", tmp_path / "flat.npz", "--drop-bad").stderr.count(lost) == 1
