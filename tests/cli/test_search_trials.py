"""A search by trials on the command line, on other processes, killed and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import CADDA, run

from cadda import simulate_sleep

QUICK = [
    *("--model", "shallow", "--budget", "6", "--max-epochs", "2", "--retrain-every", "3"),
    *("--no-baseline", "--engine", "processes:2"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sleep.npz"
    simulate_sleep(n_subjects=6, n_windows=30).save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("method", ["autoaugment", "population"])
def test_killed_and_resumed(data: Path, tmp_path: Path, method: str) -> None:
    own = ["--set", "n_members=2"] if method == "population" else []
    command = ["search", data, "--method", method, *QUICK, *own]
    shown = run(*command, "--out", tmp_path / "whole").stderr
    assert "trial 6 of 6: best validation loss" in shown
    assert "trained from scratch with the best policy of 3 trials" in shown
    out = tmp_path / "cut"
    checkpoint = out / "checkpoint.pt"
    for how in (signal.SIGINT, signal.SIGKILL):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(
            [CADDA, *map(str, [*command, "--out", out])],
            stderr=subprocess.DEVNULL,
            # A shell starts background jobs deaf to interrupts, and the deafness is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        while not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(how)
        assert process.wait(timeout=60) in (130, -signal.SIGKILL)
    run(*command, "--out", out)
    for name in ("policy.json", "model.safetensors", "scores.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    if method == "population":
        schedule = out / "schedule.json"
        trained = ["train", data, "--policy", schedule, "--model", "shallow", "--max-epochs", "2"]
        run(*trained, "--out", tmp_path / "trained")
        kept = json.loads((tmp_path / "trained" / "policy.json").read_text())
        assert kept["format"] == "cadda-schedule"


def test_mistakes_leave_no_folder(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for arguments, message in (
        (["--method", "random", "--engine", "threads:2"], "`--engine` must be 'serial', 'proc"),
        (["--method", "cadda", "--engine", "processes:2"], "must be 'serial' for cadda"),
    ):
        assert message in run("search", data, "--out", out, *arguments, code=2).stderr
        assert not out.exists()
