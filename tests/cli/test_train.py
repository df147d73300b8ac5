"""Training and evaluation on the command line, interrupted and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cadda import simulate_sleep

CADDA = str(Path(sys.executable).parent / "cadda")
QUICK = ["--model", "shallow", "--batch-size", "32", "--seed", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    simulate_sleep(n_subjects=5, n_windows=40).save(folder / "sleep.npz")
    (folder / "policy.txt").write_text("sign_flip p=0.5 > time_mask p=0.5 m=0.3\n")
    return folder


def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [CADDA, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_train_and_evaluate(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["train", data / "sleep.npz", "--out", out, "--max-epochs", "2", *QUICK]
    shown = run(*arguments, "--policy", data / "policy.txt").stdout
    assert "balanced accuracy" in shown
    assert str(out) in shown.replace("\n", "")
    assert sorted(file.name for file in out.iterdir()) == [
        "checkpoint.pt",
        "config.json",
        "events.jsonl",
        "model.safetensors",
        "policy.json",
        "scores.json",
    ]
    refused = run("evaluate", out, data / "sleep.npz", code=2)
    assert "leave them out with --unseen-only" in refused.stderr
    scores = json.loads(run("evaluate", out, data / "sleep.npz", "--unseen-only", "--json").stdout)
    assert scores == json.loads((out / "scores.json").read_text())
    other = run(*arguments, code=2)
    assert "holds a training with another `policy`" in other.stderr


def test_interrupted_training_goes_on(data: Path, tmp_path: Path) -> None:
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
        assert "the same command goes on" in said
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
