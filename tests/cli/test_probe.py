"""The probe on the command line."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from pathlib import Path

import commands
import numpy as np
import pytest
import torch

from cadda import ProbeResult, Windows
from cadda.cli.app import main
from cadda.cli.probe import probe
from cadda.probing.probe import ProbeSettings

QUICK = [
    *("--operations", "channel_symmetry,gaussian_noise,channel_dropout", "--folds", "3"),
    *("--epochs", "8", "--draws", "1", "--batch-size", "16"),
]


def lateral_windows(n_subjects: int = 10) -> Windows:
    """Make oscillations on the left or on the right of the head."""
    g = torch.Generator().manual_seed(0)
    n_windows = 16 * n_subjects
    y = torch.arange(n_windows) % 2
    x = torch.randn(n_windows, 2, 150, generator=g)
    phase = 6.28 * torch.rand(n_windows, 1, generator=g)
    x[torch.arange(n_windows), y] += 2 * torch.sin(6.28 * 0.1 * torch.arange(150) + phase)
    subject = [f"s{i // 16}" for i in range(n_windows)]
    return Windows(
        x, y, subject=subject, sfreq=100, ch_names=["C3", "C4"], class_names=["left", "right"]
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "windows.npz"
    lateral_windows().save(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "probe"


@pytest.fixture(scope="module")
def shown(data: Path, folder: Path) -> commands.Finished:
    return commands.run("probe", data, "--out", folder, *QUICK)


def test_table_sentences_and_files(folder: Path, shown: commands.Finished) -> None:
    words = " ".join(shown.stdout.split())
    assert "Probe: Windows: 128 windows" in words  # without the test subjects
    assert "channel_symmetry turns left into right and back: " in words
    assert "→ right" in words
    assert "Not applicable: rotation_x" in words
    assert str(folder) in shown.stdout
    assert (folder / "probe.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == [
        "checkpoint.pt",
        "probe.json",
        "probe.png",
    ]
    (label_map,) = ProbeResult.load(folder / "probe.json").label_maps
    assert label_map.mapping == {"left": "right", "right": "left"}
    assert "fold 3 of 3, epoch 8, about 0 s left" in shown.stderr


@pytest.mark.usefixtures("shown")
def test_json_of_a_resumed_probe_is_what_the_file_holds(
    data: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cadda.tracking import ProbeDisplay

    def interrupt(_self: ProbeDisplay, event: object) -> None:
        if getattr(event, "fold", 0) == 2:
            raise KeyboardInterrupt

    out = tmp_path / "probe"
    with monkeypatch.context() as patch:
        patch.setattr(ProbeDisplay, "__call__", interrupt)
        patch.setattr(sys, "argv", ["cadda", "probe", str(data), "--out", str(out), *QUICK])
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            main()
    assert [path.name for path in out.iterdir()] == ["checkpoint.pt"]
    printed = commands.run("probe", data, "--out", out, *QUICK, "--json").stdout
    assert json.loads(printed) == json.loads((folder / "probe.json").read_text("utf-8"))
    assert (out / "probe.json").read_bytes() == (folder / "probe.json").read_bytes()


def test_defaults_are_those_of_the_library() -> None:
    parameters = inspect.signature(probe).parameters
    settings = ProbeSettings()
    for name in ("n_folds", "n_epochs", "n_draws", "batch_size", "lr", "seed"):
        assert parameters[name].default == getattr(settings, name)


def error_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> str:
    """Run the command in this process, and return its error message."""
    monkeypatch.setattr(sys, "argv", ["cadda", "probe", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    return capsys.readouterr().err


@pytest.mark.usefixtures("shown")
def test_the_same_command_gives_the_same_probe_and_no_other_is_overwritten(
    data: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    before = (copy / "probe.json").read_bytes()
    commands.run("probe", data, "--out", copy, *QUICK)
    error = error_of(monkeypatch, capsys, data, "--out", copy, *QUICK, "--draws", "5")
    assert "belongs to another training run: `--draws` was" in error
    (copy / "checkpoint.pt").unlink()
    error = error_of(monkeypatch, capsys, data, "--out", copy, *QUICK)
    assert "`--out` already contains a probe" in error
    assert (copy / "probe.json").read_bytes() == before


def test_bad_input_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    windows, out = lateral_windows(), tmp_path / "probe"
    several = windows[(windows.y.numpy() == 0) | np.isin(windows.subject, ["s3"])]
    several.save(tmp_path / "one class.npz")
    windows[windows.subject == "s1"].save(tmp_path / "one subject.npz")
    for name, words in (
        ("one class", "class 'right' is missing in the training windows of a fold"),
        ("one subject", "must have at least 3 subjects to split them, got 1"),
    ):
        error = error_of(monkeypatch, capsys, tmp_path / f"{name}.npz", "--out", out, *QUICK)
        assert words in error
        assert error.count("\n") == 1
        assert not out.exists()
