"""`cadda report`, and what `cadda search` and `cadda train` leave for it."""

from __future__ import annotations

import importlib
import json
import shutil
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run

from cadda import simulate_sleep

QUICK = ["--model", "shallow", "--max-epochs", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sleep.npz"
    simulate_sleep(n_subjects=5, n_windows=40).save(path)
    return path


@pytest.fixture(scope="module")
def searched(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "found"
    options = ["--method", "randaugment", "--budget", "1", "--classes", "W,N2,N3", "--drop-bad"]
    shown = run("search", data, *options, *QUICK, "--out", out).stdout
    assert shown.splitlines()[-1] == f"Open the report in a browser: {out / 'report.html'}"
    return out


def test_search_writes_down_how_it_read_and_was_called(searched: Path, data: Path) -> None:
    config = json.loads((searched / "config.json").read_text())
    assert config["reading"] == {
        "function": "cadda.read_windows",
        "arguments": {
            "source": str(data),
            "classes": ["W", "N2", "N3"],
            "standardise": "auto",
            "on_bad": "drop",
        },
    }
    (session,) = json.loads((searched / "sessions.json").read_text())
    assert session["command"].startswith(f"cadda search {data} --method randaugment --budget 1")
    page = (searched / "report.html").read_text()
    assert "cadda.read_windows(&#34;" in page
    assert session["command"] in page


def test_other_reading_is_not_the_same_run(searched: Path, data: Path) -> None:
    options = ["--method", "randaugment", "--budget", "1", "--classes", "W,N2,N3"]
    refused = run("search", data, *options, *QUICK, "--out", searched, code=2).stderr
    assert 'contains a search with another `--drop-bad`: "drop", now "raise"' in refused
    options = ["--method", "randaugment", "--budget", "2", "--classes", "W,N2,N3", "--drop-bad"]
    refused = run("search", data, *options, *QUICK, "--out", searched, code=2).stderr
    assert "contains a search with another `--budget`: 1, now 2" in refused


def test_missing_records_are_added(searched: Path, data: Path) -> None:
    before = (searched / "report.html").read_text()
    (searched / "predictions.npz").unlink()
    said = run("report", searched, code=2).stderr
    assert said.startswith("cadda: ")
    assert "has no predictions.npz; run it again with the same arguments" in said
    options = ["--method", "randaugment", "--budget", "1", "--classes", "W,N2,N3", "--drop-bad"]
    again = run("search", data, *options, *QUICK, "--out", searched, "--json").stdout
    after = Path(json.loads(again)["report"]).read_text()
    # Nothing was computed anew.
    for name in ("lead", "tiles"):
        start = before.index(f'class="{name}"')
        assert before[start : start + 300] in after


def test_report_of_a_training(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "trained"
    shown = run("train", data, *QUICK, "--out", out).stdout
    assert f"`cadda report {out}`" in shown.replace("\n", "")
    path = out / "report.html"
    assert not path.exists()
    assert run("report", out).stdout == f"{path}\n"
    assert json.loads(run("report", out, "--json").stdout) == {"report": str(path)}
    assert "Without augmentation" in path.read_text()


@pytest.fixture
def fresh_browsers() -> Iterator[None]:
    """Let Python look for browsers again, which it does once per process."""
    importlib.reload(webbrowser)
    yield
    importlib.reload(webbrowser)


@pytest.mark.usefixtures("fresh_browsers")
def test_open(searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser of the user is called with the page."""
    script, called = tmp_path / "browser", tmp_path / "called"
    script.write_text(f'#!/bin/sh\necho "$1" > {called}\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    run("report", searched, "--open")
    assert called.read_text().strip() == (searched / "report.html").as_uri()


@pytest.mark.usefixtures("fresh_browsers")
def test_open_without_a_browser(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = run("report", searched, "--open").stderr
    assert said == "No browser found; open the file manually.\n"


def test_the_report_of_a_study(tmp_path: Path) -> None:
    kept = Path(__file__).parents[2] / "docs/studies/results/simulated/frequency-shift"
    folder = shutil.copytree(kept, tmp_path / "study")
    page = Path(run("report", folder).stdout.strip())
    assert page == folder / "report.html"
    (tmp_path / "plan.json").write_text("{}")
    said = run("report", tmp_path, code=2).stderr
    assert "plan.json cannot be read" in said


def test_a_probe_has_no_report(tmp_path: Path) -> None:
    (tmp_path / "probe.json").write_text("{}")
    said = run("report", tmp_path, code=2).stderr
    assert "it has a probe, which has no report; see probe.png, or read probe.json with" in said


@pytest.mark.parametrize("folder", ["none", ".", "data.npz"])
def test_mistakes_end_in_a_sentence(folder: str, tmp_path: Path) -> None:
    (tmp_path / "data.npz").touch()
    said = run("report", tmp_path / folder, code=2).stderr
    assert said.startswith("cadda: ")
    assert "is not the folder of a training run or a search" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("events.jsonl", "", "it has no events, but the run is finished"),
        ("scores.json", "null", "it has no scores"),
        ("scores.json", "", "Expecting value: line 1 column 1"),
    ],
)
def test_files_without_content(
    name: str, content: str, reason: str, data: Path, tmp_path: Path
) -> None:
    run("train", data, "--model", "shallow", "--max-epochs", "1", "--out", tmp_path / "run")
    (tmp_path / "run" / name).write_text(content)
    said = run("report", tmp_path / "run", code=2).stderr
    assert f"{name} is damaged or of another version of cadda ({reason}" in said
