"""Splits of runs: the groups of an earlier run for other windows of the same subjects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import cadda
from cadda.api.run import run_search, run_training
from cadda.exceptions import RunError
from cadda.reporting.html.provenance import snippet
from cadda.reporting.records import SplitSettings
from cadda.runs.folder import RunFolder
from cadda.runs.report import read_record
from cadda.runs.splits import describe_split
from cadda.training import TrainingSettings

NAMES = [f"s{i:02}" for i in range(8)]
QUICK = TrainingSettings(max_epochs=1)


def make(names: list[str], *, n_windows: int = 4, seconds: float = 1.0) -> cadda.Windows:
    n = n_windows * len(names)
    generator = torch.Generator().manual_seed(0)
    return cadda.Windows(
        torch.randn(n, 2, round(100 * seconds), generator=generator),
        np.arange(n) % 2,
        subject=np.repeat(names, n_windows),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["a", "b"],
    )


def groups(folder: Path) -> list[set[str]]:
    split = RunFolder(folder).read_config().split
    return [set(part) for part in (split.train, split.valid, split.test)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    run_training(
        make(NAMES), folder, settings=QUICK, model="shallow", valid=0.25, test=0.5, device="cpu"
    )
    return folder


def test_same_groups_for_other_windows(run: Path, tmp_path: Path) -> None:
    other = make(NAMES[::-1], n_windows=6, seconds=1.5)
    run_training(
        other, tmp_path / "second", settings=TrainingSettings(max_epochs=1, seed=7),
        model="shallow", split_from=run, device="cpu",
    )  # fmt: skip
    assert groups(tmp_path / "second") == groups(run)
    parts = cadda.split_from(other, run)
    assert [set(part.subjects) for part in parts] == groups(run)
    assert sum(map(len, parts)) == len(other)


def test_search_has_the_groups_too(run: Path, tmp_path: Path) -> None:
    arguments = {
        "method": "adda",
        "model": "shallow",
        "budget": 1,
        "warmup_epochs": 0,
        "batch_size": 4,
    }
    run_search(
        make(NAMES), tmp_path / "search", **arguments, training=QUICK, split_from=run, seed=3,
        device="cpu",
    )  # fmt: skip
    assert groups(tmp_path / "search") == groups(run)
    # Of a run of an older version, only the records have the test subjects.
    config = RunFolder(tmp_path / "search").config
    content = json.loads(config.read_text())
    content["split"]["test"] = []
    config.write_text(json.dumps(content))
    assert groups(tmp_path / "search")[2] == set()
    parts = cadda.split_from(make(NAMES), tmp_path / "search")
    assert [set(part.subjects) for part in parts] == groups(run)


def test_new_subjects_are_left_out_and_named(run: Path) -> None:
    windows = make([*NAMES[1:], "new1", "new2", "new3", "new4"])
    parts = cadda.split_from(windows, run)
    assert {name for part in parts for name in part.subjects} == set(NAMES[1:])
    notes = describe_split(windows, SplitSettings(split_from=str(run)))
    assert notes[0] == f"Not in {run}, so left out: new1, new2, new3 … (4 in all)."


def test_nobody_of_a_part_is_here(run: Path) -> None:
    train, valid, _ = groups(run)
    with pytest.raises(ValueError, match=r"must have test subjects of .*first, such as 's0"):
        cadda.split_from(make(sorted(train | valid)), run)


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not the folder of a training run or a search"):
        cadda.split_from(make(NAMES), tmp_path)


def test_a_search_without_test_subjects(tmp_path: Path) -> None:
    train, valid, _ = make(NAMES).split()
    cadda.search(
        train, valid, method="random", model="shallow", budget=1, n_stages=1, training=QUICK,
        run_dir=tmp_path / "run", device="cpu",
    )  # fmt: skip
    with pytest.raises(RunError, match="has no test subjects, so that its split cannot be used"):
        cadda.split_from(make(NAMES), tmp_path / "run")


def test_code_of_the_report_splits_in_the_same_way(run: Path, tmp_path: Path) -> None:
    windows = make(NAMES)
    run_training(
        windows, tmp_path / "second", settings=QUICK, model="shallow", split_from=run,
        device="cpu", policy=cadda.PolicySpec.from_text("sign_flip p=0.5"),
    )  # fmt: skip
    for folder in (run, tmp_path / "second"):
        code = snippet(read_record(folder))
        starts = ("run = ", "train, valid, test")
        lines = [line for line in code.splitlines() if line.startswith(starts)]
        assert len(lines) == 2
        names: dict[str, object] = {"windows": windows, "cadda": cadda}
        exec("\n".join(lines), names)  # noqa: S102
        parts = [names[name] for name in ("train", "valid", "test")]
        assert [set(part.subjects) for part in parts] == groups(run)
