"""`cadda experiment` as its users meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CADDA = str(Path(sys.executable).parent / "cadda")
NAME = "frequency-shift"


def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [CADDA, "experiment", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "shift"
    shown = run("run", NAME, "--scale", "quick", "--out", out)
    assert "Peaks of N2 in two subjects" in shown.stdout
    assert "2 of 2 jobs" in shown.stderr
    return out


def test_list() -> None:
    assert json.loads(run("list", "--json").stdout)[NAME]["in_paper"] == "figure 1"
    assert NAME in run("list").stdout


@pytest.mark.parametrize("command", ["list", "plan", "run", "status", "figure"])
def test_help_has_an_example_and_needs_no_torch(command: str) -> None:
    script = (
        "import sys; from cadda.cli.app import app\n"
        f"try: app(['experiment', {command!r}, '--help'])\n"
        "except SystemExit as e: assert e.code == 0\n"
        "heavy = {'torch', 'mne', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Example: cadda experiment" in done.stdout


def test_plan_tells_settings_jobs_and_time(folder: Path) -> None:
    text = run("plan", NAME, "--scale", "quick", "--out", folder).stdout
    assert "class_name" in text
    assert "2 of 2 jobs are done" in text
    text = run("plan", NAME, "--scale", "quick", "--set", "min_windows=4", "--out", folder).stdout
    assert "0 of 2 jobs are done, 0 failed, 2 are to do." in text
    assert "judged by 2 finished jobs" in " ".join(text.split())


def test_a_plan_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "nothing"
    options = ("--scale", "quick", "--out", out, "--json")
    content = json.loads(run("plan", NAME, *options).stdout)
    assert content["n_jobs"] == content["n_missing"] == len(content["jobs"]) == 2
    assert content["config"]["n_subjects"] == 4
    assert not out.exists()


def test_figure_and_status_need_the_folder_only(folder: Path) -> None:
    status = json.loads(run("status", NAME, "--out", folder, "--json").stdout)
    assert status["n_done"] == 2
    assert status["seconds_left"] == 0
    assert "2 of 2 jobs are done" in run("status", NAME, "--out", folder).stdout
    figures = [folder / f"{NAME}.{ending}" for ending in ("png", "svg")]
    before = [file.read_bytes() for file in figures]
    for file in figures:
        file.unlink()
    content = json.loads(run("figure", NAME, "--out", folder, "--json").stdout)
    assert content["figures"] == [str(file) for file in figures]
    assert [row["channel"] for row in content["table"]["rows"]] == ["Fpz-Cz", "Pz-Oz"]
    assert [file.read_bytes() for file in figures] == before


def test_the_settings_of_a_run_can_be_given_to_another(folder: Path, tmp_path: Path) -> None:
    config = folder / "config.toml"
    options = ("--scale", "paper", "--config", config, "--out", folder, "--json")
    content = json.loads(run("plan", NAME, *options).stdout)
    assert content["n_missing"] == 0


def test_reading_options_hold_for_simulated_data_too(folder: Path) -> None:
    options = ("--scale", "quick", "--channels", "Pz-Oz", "--out", folder, "--json")
    content = json.loads(run("plan", NAME, *options).stdout)
    assert content["jobs"] == [{"channel": "Pz-Oz"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "frequencyshift"], "unknown study 'frequencyshift' (did you mean `frequency-"),
        (["run", NAME, "--set", "classname=N3"], "unknown setting `classname` (did you mean"),
        (["run", NAME, "--set", "classname"], "`--set` must be name=value, got 'classname'"),
        (["run", NAME, "--model", "shallow"], "unknown setting `model`"),
        (["run", NAME, "--config", "none.toml"], "none.toml cannot be read as TOML"),
        (["run", NAME, "--data", "none.fif"], "none.fif does not exist"),
        (["run", NAME, "--engine", "threads"], "`engine` must be 'serial'"),
        (["plan", NAME, "--scale", "huge"], "'huge' is not one of"),
        (["status", NAME], "holds no study; begin it with `cadda experiment run"),
        (["figure", NAME], "holds no study; begin it with `cadda experiment run"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert message in " ".join(run(*arguments, "--out", out, code=2).stderr.split())
    assert not out.exists()
