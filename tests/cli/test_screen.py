"""Screening on the command line."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import commands
import pytest
import torch

from cadda import Screening, Windows
from cadda.cli.app import main
from cadda.cli.screen import screen

QUICK = [
    *("--model", "shallow", "--operations", "sign_flip,time_mask", "--rounds", "6"),
    *("--epochs", "2", "--max-warmup", "1"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "windows.npz"
    Windows(
        torch.randn(90, 2, 150, generator=torch.Generator().manual_seed(0)),
        torch.arange(90) % 3,
        subject=[f"s{i // 3 % 6}" for i in range(90)],
        sfreq=100.0,
        ch_names=["Fpz-Cz", "Pz-Oz"],
        class_names=["W", "N1", "N2"],
    ).save(path)
    return path


def run(*arguments: str | Path) -> commands.Finished:
    return commands.run("screen", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "screening"


@pytest.fixture(scope="module")
def shown(data: Path, folder: Path) -> commands.Finished:
    return run(data, "--out", folder, *QUICK)


def test_table_words_and_files(folder: Path, shown: commands.Finished) -> None:
    for word in ("sign_flip", "time_mask", "white_noise", "block_shuffle", "N2", "±"):
        assert word in shown.stdout
    words = " ".join(shown.stdout.split())
    assert "1 is the typical size of that of a single destroyed window" in words
    assert "undecided. Trained on 60 windows" in words
    assert "after correction for the number of operations" in words
    assert "verdicts hold for these subjects only" in words
    assert "Not applicable: channel_symmetry, no channel has a partner" in shown.stdout
    assert str(folder) in shown.stdout
    assert (folder / "screening.png").read_bytes().startswith(b"\x89PNG")
    assert Screening.load(folder / "screening.json").settings["n_rounds"] == 6


def test_progress_and_notes_go_to_standard_error(shown: commands.Finished) -> None:
    assert "Training until the model overfits" in shown.stderr
    assert "Trying operations" in shown.stderr
    assert re.search(r"^100%: epoch 3, .*, at most 0 s left$", shown.stderr, re.MULTILINE)
    assert "Warning: the model reached an accuracy of" in shown.stderr
    assert "UserWarning" not in shown.stderr


def test_notes_name_options_that_there_are(shown: commands.Finished) -> None:
    note = next(line for line in shown.stderr.splitlines() if line.startswith("Warning:"))
    options = re.findall(r"--[a-z-]+", note)
    assert options == ["--max-warmup", "--lr"]
    parameters = inspect.signature(screen).parameters
    assert {one.removeprefix("--").replace("-", "_") for one in options} <= parameters.keys()


@pytest.mark.usefixtures("shown")
def test_json_is_what_the_file_holds_and_the_same_each_time(
    data: Path, folder: Path, tmp_path: Path
) -> None:
    printed = json.loads(run(data, "--out", tmp_path, *QUICK, "--json").stdout)
    assert printed == json.loads((folder / "screening.json").read_text(encoding="utf-8"))
    assert (tmp_path / "screening.json").read_bytes() == (folder / "screening.json").read_bytes()


def error_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> str:
    """Run the command in this process, and give what it says about a mistake."""
    monkeypatch.setattr(sys, "argv", ["cadda", "screen", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operations", "sing_flip"], "did you mean `sign_flip`"),
        (["--model", "shalow"], "did you mean `shallow`"),
        (["--level", "2"], "`--level` must be between 0 and 1"),
        (["--lr", "0"], "`--lr` must be above 0"),
        (["--valid", "0"], "`--valid` and `--test` must be fractions"),
        (["--by", "night"], "'night' is not one of"),
        (["--classes", "W,N4"], "N4"),
    ],
)
def test_mistakes(
    data: Path,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in error_of(monkeypatch, capsys, data, "--out", tmp_path, *arguments)


@pytest.mark.parametrize("name", ["screening.json", "screening.png"])
def test_an_earlier_screening_is_kept_and_nothing_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("earlier")
    said = error_of(monkeypatch, capsys, "no such file", "--out", tmp_path)
    assert "`--out` already contains a screening" in said
    assert f"{str(tmp_path)!r} has {name}" in said
    assert (tmp_path / name).read_text() == "earlier"


def test_a_folder_that_cannot_be_made_is_noticed_before_the_work(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("")
    said = error_of(monkeypatch, capsys, data, "--out", tmp_path / "file" / "out")
    assert str(tmp_path / "file") in said
    assert "Training" not in said
