"""`cadda experiment` as its users meet it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from cadda import Windows
from cadda.cli.app import main
from cadda.cli.studies import print_table
from cadda.experiments.registry import STUDIES
from cadda.experiments.study import ResultTable

CADDA = str(Path(sys.executable).parent / "cadda")
NAME = "frequency-shift"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that calls the command in this process: torch is imported only once."""

    def call(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["cadda", "experiment", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, said = capsys.readouterr()
        assert (ended.value.code or 0) == code, said
        return out, said

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "shift"
    command = [CADDA, "experiment", "run", NAME, "--scale", "quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Peaks of N2 in two subjects" in done.stdout
    assert re.search(r"0 of 2 jobs, about .* left\n2 of 2 jobs: channel Pz-Oz", done.stderr)
    return out


def test_list(run: Any) -> None:
    assert json.loads(run("list", "--json")[0])[NAME]["in_paper"] == "figure 1"
    text = run("list")[0]
    assert all(name in text for name in STUDIES)


def test_plan_shows_settings_jobs_and_time(run: Any, folder: Path) -> None:
    text, _ = run("plan", NAME, "--scale", "quick", "--out", folder)
    assert "class_name" in text
    assert "2 of 2 jobs finished" in text
    text, _ = run("plan", NAME, "--scale", "quick", "--set", "min_windows=4", "--out", folder)
    assert "0 of 2 jobs finished, 0 failed, 2 to do." in text
    assert "2 results of other settings" in text
    assert "a rough guess before any job finished" in " ".join(text.split())


@pytest.mark.parametrize("width", [120, 80, 40])
def test_no_table_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = ("channel", "first", "peak 1 (Hz)", "peak 2 (Hz)", "before (dB)", "after (dB)")
    print_table(ResultTable("Peaks", names, (("Fpz-Cz", "sub-20", 12.5, 14.6, 6.51, 2.93),) * 2))
    words = capsys.readouterr().out.replace("│", " ").replace("┃", " ").split()
    # The last column is the first to be cut.
    assert words.count("2.93") == words.count("12.5") == words.count("sub-20") == 2
    assert words.count("after") == 1
    assert words.count("channel") == 1


def test_a_plan_writes_nothing(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "nothing"
    content = json.loads(run("plan", NAME, "--scale", "quick", "--out", out, "--json")[0])
    assert content["n_jobs"] == content["n_missing"] == len(content["jobs"]) == 2
    assert content["config"]["n_subjects"] == 4
    assert not out.exists()


def test_figure_and_status_need_the_folder_only(run: Any, folder: Path) -> None:
    status = json.loads(run("status", NAME, "--out", folder, "--json")[0])
    assert status["n_done"] == 2
    assert status["seconds_left"] == 0
    assert "2 of 2 jobs finished" in run("status", NAME, "--out", folder)[0]
    figure = folder / f"{NAME}.png"
    before = figure.read_bytes()
    figure.unlink()
    content = json.loads(run("figure", NAME, "--out", folder, "--json")[0])
    assert content["figures"] == [str(figure)]
    assert [row["channel"] for row in content["table"]["rows"]] == ["Fpz-Cz", "Pz-Oz"]
    assert figure.read_bytes() == before
    run("figure", NAME, "--out", folder, "--format", "svg", "--format", "pdf")
    assert {file.suffix for file in folder.glob(f"{NAME}.*")} == {".png", ".svg", ".pdf"}


def test_the_settings_of_a_run_can_be_given_to_another(run: Any, folder: Path) -> None:
    options = ("--scale", "paper", "--config", folder / "config.toml", "--out", folder, "--json")
    assert json.loads(run("plan", NAME, *options)[0])["n_missing"] == 0


def test_results_of_other_data_in_the_folder_are_said(
    run: Any, folder: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(folder, tmp_path / "own")
    command = ("run", NAME, "--scale", "quick", "--out", own)
    assert "of other settings or data" not in run(*command)[1]
    assert "The folder has 2 results of other" in run(*command, "--channels", "Pz-Oz")[1]


def test_reading_options_hold_for_simulated_data_too(run: Any, folder: Path) -> None:
    options = ("--scale", "quick", "--channels", "Pz-Oz", "--out", folder, "--json")
    assert json.loads(run("plan", NAME, *options)[0])["jobs"] == [{"channel": "Pz-Oz"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "frequencyshift"], "unknown study 'frequencyshift' (did you mean `frequency-"),
        (
            ["run", NAME, "--set", "classname=N3"],
            "`classname` is not a setting",
        ),
        (["run", NAME, "--set", "classname"], "`--set` must be name=value, got 'classname'"),
        (["run", NAME, "--model", "shallow"], "`--model` is not a setting"),
        (["run", NAME, "--config", "none.toml"], "none.toml cannot be read: No such file"),
        (["run", NAME, "--data", "none.fif"], "none.fif does not exist"),
        (["run", NAME, "--engine", "threads"], "`--engine` must be 'serial'"),
        (["plan", NAME, "--scale", "huge"], "'huge' is not one of"),
        (["status", NAME], "has no study; run frequency-shift"),
        (["figure", NAME], "has no study; run frequency-shift"),
    ],
)
def test_mistakes(arguments: list[str], message: str, run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, said = run(*arguments, "--out", out, code=2)
    assert message in " ".join(said.replace("│", " ").split())
    assert not out.exists()


def test_another_study_in_the_folder(run: Any, folder: Path) -> None:
    _, said = run("status", "manual", "--out", folder, code=2)
    assert f"holds the study {NAME}, not manual" in said


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make windows of two seconds without meaning, which any model passes through at once."""
    x = torch.randn(96, 2, 200, generator=torch.Generator().manual_seed(0))
    names = {"ch_names": ["Fpz-Cz", "Pz-Oz"], "class_names": ["a", "b", "c"]}
    windows = Windows(x, [0, 1, 2] * 32, subject=[i // 12 for i in range(96)], sfreq=100, **names)
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    windows.save(path)
    return path


FAST = ("identity-fit", "manual")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
        for name in sorted(set(STUDIES) - {NAME})
    ],
)
def test_every_study_runs_from_end_to_end(name: str, run: Any, tiny: Path, tmp_path: Path) -> None:
    data = "simulated" if name == "mnist" else tiny
    options = ("--scale", "quick", "--data", data, "--out", tmp_path, "--json")
    content = json.loads(run("run", name, *options)[0])
    assert content["n_done"] == content["n_jobs"] > 1
    assert content["table"]["rows"]
    assert all(Path(file).stat().st_size > 5000 for file in content["figures"])
    assert json.loads(run("run", name, *options)[0]) == content


def results(folder: Path) -> dict[str, Any]:
    """Read results by job; each is there once, and its time does not matter."""
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert len({json.dumps(line["job"]) for line in lines}) == len(lines)
    return {json.dumps(line["job"]): line["result"] for line in lines}


@pytest.mark.parametrize("engine", ["serial", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_killed_and_resumed(engine: str, run: Any, tiny: Path, tmp_path: Path) -> None:
    """A kill costs the jobs that were under way, and the end is that of a run without it."""
    options = ["--scale", "quick", "--data", str(tiny), "--set", "max_epochs=10"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [CADDA, "experiment", "run", "manual", *options, "--engine", engine, "--out", str(killed)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    file = killed / "results.jsonl"
    while not (file.exists() and file.read_text().count("\n") >= 2):
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert file.read_text().count("\n") < 12
    run("run", "manual", *options, "--engine", engine, "--out", killed)
    run("run", "manual", *options, "--out", whole)
    assert len(results(killed)) == 12
    assert results(killed) == results(whole)
    figures = [(folder / "manual.png").read_bytes() for folder in (killed, whole)]
    assert figures[0] == figures[1]


def test_a_failed_job_is_reported(run: Any, tiny: Path, tmp_path: Path) -> None:
    options = ("--scale", "quick", "--data", tiny, "--set", "lr=1e30", "--out", tmp_path)
    out, said = run("run", "manual", *options, code=2)
    reason = "ModelError: the model returned NaN or infinity"
    assert f"failed: fold 1, operation none, fraction 0.5: {reason}" in said
    assert f"has no finished job to draw: {reason}" in said
    status = json.loads(run("status", "manual", "--out", tmp_path, "--json")[0])
    assert len(status["failures"]) == status["n_missing"] == 12
    assert not out.count("Figure")
