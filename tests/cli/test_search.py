"""The search on the command line, killed at random moments and resumed."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import CADDA, run
from mirrored import SWAP, mirrored_windows

from cadda import PolicySpec, SearchResult, read_windows, simulate_sleep
from cadda._internal.jsonlines import JsonLines
from cadda.api.run import SearchRun
from cadda.cli.search import print_outcome
from cadda.runs.records import RunScores
from cadda.runs.report import Report
from cadda.training import score

QUICK = [
    *("--method", "cadda"),
    *("--model", "shallow", "--budget", "4", "--set", "warmup_epochs=1", "--retrain-every", "2"),
    *("--no-baseline", "--set", "batch_size=32", "--max-epochs", "4"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sleep.npz"
    simulate_sleep(n_subjects=6, n_windows=30).save(path)
    return path


def results(folder: Path) -> dict[str, object]:
    events = JsonLines(folder / "events.jsonl", allow_nan=True)
    return {
        "policy": (folder / "policy.json").read_bytes(),
        "model": (folder / "model.safetensors").read_bytes(),
        "scores": (folder / "scores.json").read_bytes(),
        "events": [{k: v for k, v in event.items() if "seconds" not in k} for event in events],
    }


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    shown = run("search", data, *QUICK, "--out", folder)
    assert "balanced accuracy" in shown.stdout
    assert "cadda policy show" in shown.stdout
    # The report begins with the same sentence.
    assert re.search(r"reaches a balanced accuracy of 0\.\d+ \[.*\] on 1 unseen sub", shown.stdout)
    assert re.search(r"cadda, a policy per class: \d+ operations, about\s10\^\d+", shown.stderr)
    assert "trained from scratch with the policy of epoch 2" in shown.stderr
    return folder


def test_the_folder_can_be_used(whole: Path, data: Path) -> None:
    assert (whole / "figures" / "operations.png").stat().st_size > 10_000
    assert (whole / "figures" / "evolution.png").stat().st_size > 10_000
    scores = json.loads(run("evaluate", whole, data, "--skip-seen", "--json").stdout)
    kept = json.loads((whole / "scores.json").read_text())
    (session,) = json.loads((whole / "sessions.json").read_text())
    assert any("Only 1 of 6 subjects is for testing" in text for text in session["warnings"])
    assert "Only 1 of 6 subjects is for testing" in (whole / "report.html").read_text()
    assert scores["balanced_accuracy"] == kept["balanced_accuracy"]
    assert (
        "class-wise policy, found by cadda" in run("policy", "show", whole / "policy.json").stdout
    )


@pytest.mark.parametrize("n_kills", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_killed_at_random_moments(n_kills: int, data: Path, whole: Path, tmp_path: Path) -> None:
    """However often it is killed, it ends with the same bytes."""
    chance, out = random.Random(0), tmp_path / "killed"
    command = [CADDA, *map(str, ["search", data, *QUICK, "--out", out])]
    checkpoint = out / "checkpoint.pt"
    for _ in range(n_kills):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            time.sleep(0.02)
            assert process.poll() is None
        time.sleep(chance.random())
        process.kill()
        process.wait()
    run(*command[1:])
    expected, found = results(whole), results(out)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_interrupt_prints_how_to_resume(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = list(map(str, ["search", data, *QUICK, "--budget", "500", "--out", out]))
    process = subprocess.Popen(
        [CADDA, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs deaf to interrupts, and the deafness is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (out / "checkpoint.pt").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "resume with the same command" in said
    assert "Traceback" not in said


def test_help_names_the_default_of_classwise() -> None:
    shown = " ".join(run("search", "--help").stdout.replace("│", " ").split())
    assert "default: only with the method cadda" in shown
    assert "default: no-classwise" not in shown


@pytest.mark.parametrize(("text", "is_compared"), [("none", False), ("sign_flip p=1", True)])
def test_a_model_is_not_compared_with_itself(
    text: str, is_compared: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policy.txt").write_text(text)
    result = SearchResult(
        policy=PolicySpec.from_text(text),
        operations=("sign_flip",),
        schedule=None,
        history=[],
        seconds=1.0,
        fitted=None,
        baseline=None,
    )
    scores = score(torch.tensor([0, 1]), np.array([0, 1]), ("a", "b"))
    outcome = SearchRun(result, RunScores(("s1",), scores, scores))
    print_outcome(outcome, Report(tmp_path / "report.html", "A sentence."), tmp_path)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "A sentence."
    assert text in others
    header = next(line for line in others if "augmentation" in line)
    assert ("with the policy" in header) == is_compared


def test_rare_classes_can_be_left_out(data: Path, tmp_path: Path) -> None:
    """What is left out, and how windows are scaled, is part of what can be resumed."""
    windows = read_windows(data)
    count_of = dict(zip(windows.class_names, windows.class_counts().tolist(), strict=True))
    fewest = min(count_of.values())
    few = [*QUICK, "--budget", "1", "--max-epochs", "1", "--set", "betas=0.9,0.99"]
    few += ["--operations", "sign_flip, time_mask"]
    command = ["search", data, *few, "--out", tmp_path, "--min-windows", str(fewest + 1)]
    shown = run(*command, "--standardise", "recording").stderr
    assert "increase `--budget`, or decrease `warmup_epochs`" in " ".join(shown.split())
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["settings"]["betas"] == [0.9, 0.99]
    assert config["reading"]["arguments"]["min_windows"] == fewest + 1
    saved = json.loads((tmp_path / "policy.json").read_text())
    assert set(saved["operations"]) == {"sign_flip", "time_mask"}
    assert set(saved["policy"]) == {name for name, count in count_of.items() if count > fewest}
    refused = run(*command, code=2).stderr
    assert "another `--standardise`: " in " ".join(refused.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "cada"], "unknown `--method` 'cada' (did you mean `cadda`?)"),
        (["--operations", "sign_flop,time_mask"], "did you mean `sign_flip`?"),
        (["--set", "n_stages"], "`--set` must be name=value, got 'n_stages'"),
        (["--set", "seed=3"], "'seed' is not a setting of the method; use `--seed`."),
        (["--set", "run_dir=x"], "'run_dir' is not a setting of the method; use `--out`."),
        (["--set", "patience=3"], "'patience' is not a setting of the method; use `--patience`."),
        (["--set", "on_event=3"], "'on_event' is not a setting of the method."),
        (["--set", "budgt=3"], "did you mean `budget`?"),
        (["--method", "adda", "--set", "estimater=relax"], "did you mean `estimator`?"),
        (["--preset", "cvpr"], "`--preset` must be 'paper' or None, got 'cvpr'"),
        (["--method", "cadda", "--no-classwise"], "for cadda, which has a policy for each class"),
        (
            ["--method", "adda", "--set", "batch_size=abc"],
            "`batch_size` must be a valid integer, got 'abc'.",
        ),
        (
            ["--method", "adda", "--set", "betas=0.9"],
            "`betas` must be two numbers with a comma between, got 0.9.",
        ),
    ],
)
def test_mistakes(data: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    out = tmp_path / "run"
    said = run("search", data, "--out", out, *arguments, code=2).stderr
    assert message in said
    assert not out.exists()


def test_with_a_probe(tmp_path: Path) -> None:
    data, out = tmp_path / "mirrored.npz", tmp_path / "run"
    mirrored_windows(80, n_subjects=10).save(data)
    command = [
        *("search", data, "--model", "shallow", "--operations", "time_mask,channel_symmetry"),
        *("--method", "random", "--budget", "3", "--max-epochs", "30", "--set", "n_stages=1"),
    ]
    shown = run(*command, "--probe", "--out", out)
    note = f"The probe changes the operations: it adds {SWAP}; it leaves out"
    assert "probing the operations, model 6 of 6" in shown.stderr
    assert note in shown.stderr
    report = (out / "report.html").read_text()
    assert note in report
    assert str(SWAP) in report
    again = tmp_path / "again"
    run(*command, "--probe-file", out / "probe.json", "--out", again)
    assert (again / "policy.json").read_bytes() == (out / "policy.json").read_bytes()
    failed = run(*command, "--probe", "--probe-file", data, "--out", tmp_path / "x", code=2)
    assert "pass `--probe` or `--probe-file`, not both" in failed.stderr
    assert not (tmp_path / "x").exists()


def test_the_default_method(tmp_path: Path) -> None:
    """The result comes first, then the scores, then the policy."""
    data, out = tmp_path / "mirrored.npz", tmp_path / "run"
    mirrored_windows(80, n_subjects=10).save(data)
    command = [
        *("search", data, "--model", "shallow", "--operations", "time_mask,channel_symmetry"),
        *("--budget", "18", "--max-epochs", "2", "--set", "search_epochs=0"),
        *("--set", "n_decisive=3", "--out", out),
    ]
    shown = run(*command).stdout
    race = json.loads((out / "race.json").read_text())
    parts = (race["verdict"]["sentence"], "balanced accuracy │", (out / "policy.txt").read_text())
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    made = json.loads(run(*command, "--json").stdout)
    assert made["verdict"] == race["verdict"]["sentence"]
    assert made["race"] == race
    assert {"none", "guided, 2 in a row"} <= {row["name"] for row in made["race"]["candidates"]}


def test_settings_of_operations(data: Path, tmp_path: Path) -> None:
    settings = [
        *("--operation-setting", "frequency_shift.symmetric=true"),
        *("--operation-setting", "frequency_shift.max_shift=8"),
    ]
    out = tmp_path / "run"
    quick = ("--method", "trivial", "--model", "shallow", "--max-epochs", "1", "--no-baseline")
    names = ("--operations", "frequency_shift,time_shift")
    run("search", data, *quick, *names, *settings, "--out", out)
    policy = PolicySpec.load(out / "policy.json")
    assert policy.operations == {
        "frequency_shift": {"symmetric": True, "max_shift": 8.0},
        "time_shift": {"max_shift": 0.5},
    }
    shown = run("policy", "show", out / "policy.json").stdout
    assert "shift ±0 to 8 Hz" in shown
    assert "shift ±0 to 0.5 s" in shown
    # Training again takes the settings from the file.
    run(
        "train",
        data,
        "--policy",
        out / "policy.json",
        "--model",
        "shallow",
        "--max-epochs",
        "1",
        "--out",
        tmp_path / "again",
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("time_mask.max_len=3", "`--operation-setting`: operation `time_mask` has no setting"),
        (
            "max_length=3",
            "`--operation-setting` must be operation.setting=value, got 'max_length'",
        ),
        ("time_mask.max_length", "`--operation-setting` must be name=value"),
        (
            "time_mask.max_length=[1]",
            "`--operation-setting`: setting time_mask.max_length must be a number, such as 1.0,",
        ),
    ],
)
def test_wrong_settings_of_operations(
    setting: str, message: str, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    failed = run("search", data, "--out", out, "--operation-setting", setting, code=2)
    assert message in failed.stderr
