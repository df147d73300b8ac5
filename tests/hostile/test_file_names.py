"""Names of files that are not UTF-8, as on disks of other systems: results are not lost."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from commands import run
from tiny_commands import tiny_windows

from cadda import Windows

LATIN_1 = os.fsdecode(b"caf\xe9") if sys.platform == "linux" else "café"
SHOWN = "caf\\udce9"
QUICK = ("--model", "shallow", "--max-epochs", "1")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / f"{LATIN_1}.npz"
    tiny_windows().save(path)
    return path


def test_train_evaluate_and_report(data: Path, tmp_path: Path) -> None:
    out, policy = tmp_path / LATIN_1, tmp_path / f"{LATIN_1}.txt"
    policy.write_text("time_reverse p=0.5\n")
    run("train", data, *QUICK, "--policy", policy, "--out", out)
    assert json.loads((out / "config.json").read_text())["data"]["name"].endswith(f"{SHOWN}.npz")
    (session,) = json.loads((out / "sessions.json").read_text())
    assert session["command"].count(SHOWN) == 3
    # The same command finds its run.
    run("train", data, *QUICK, "--policy", policy, "--out", out)
    run("report", out)
    assert SHOWN in (out / "report.html").read_text("utf-8")
    run("evaluate", out, data, "--different-subjects")


def test_search_and_compare(data: Path, tmp_path: Path) -> None:
    found = tmp_path / f"search-{LATIN_1}"
    search = ("--method", "randaugment", "--budget", "1", "--engine", "serial", "--no-baseline")
    run("search", data, *QUICK, *search, "--operations", "sign_flip,time_reverse", "--out", found)
    run("report", found)
    compared = tmp_path / f"compare-{LATIN_1}"
    names = ("--operations", "sign_flip,time_reverse", "--folds", "2", "--out", compared)
    run("compare", data, *QUICK, "--methods", "none,duplicates", *names)
    assert SHOWN in (compared / "report.html").read_text("utf-8")
    policy = tmp_path / f"{LATIN_1}.txt"
    shutil.copy(found / "policy.txt", policy)
    named = ("--methods", f"none,{policy}", "--folds", "2", "--out", tmp_path / "other")
    said = run("compare", data, *QUICK, *named, code=2).stderr
    assert "`--methods` must be files whose names are UTF-8; rename 'caf\\udce9.txt'" in said
    assert not (tmp_path / "other").exists()


def test_names_in_arrays(tmp_path: Path) -> None:
    windows = tiny_windows()
    with pytest.raises(ValueError, match=r"`subject` must have no line breaks.*, got 'caf\\udce9"):
        Windows(windows.x, windows.y, subject=[LATIN_1, "b"] * 32)
