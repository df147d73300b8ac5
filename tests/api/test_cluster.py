"""On the workers of a scheduler, searches, probes and comparisons are those of one process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_processes import dask_processes
from tiny_commands import tiny_windows
from torch import nn

import cadda
from cadda import SearchResult, TrainingSettings
from cadda._internal.jsonlines import JsonLines
from cadda.experiments import run_study
from cadda.testing.planted import planted_network, planted_windows

OPERATIONS = ["sign_flip", "time_reverse", "time_mask"]
TRAIN, VALID = (planted_windows(48, varied=varied) for varied in (False, True))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with three workers, one of which a test kills."""
    with dask_processes(tmp_path_factory.mktemp("cluster")) as cluster:
        for _ in range(3):
            cluster.add_worker()
        yield f"dask:{cluster.address}"


def race(engine: str, folder: Path, model: Callable[..., nn.Module]) -> SearchResult:
    """Probe the operations and race them."""
    return cadda.search(
        TRAIN,
        VALID,
        engine=engine,
        run_dir=folder,
        model=model,
        operations=OPERATIONS,
        training=TrainingSettings(max_epochs=2, lr=3e-3),
        n_blocks=3,
        n_decisive=3,
        n_survivors=3,
        search_epochs=1,
        budget=24,
        device="cpu",
        baseline=False,
        progress=False,
    )


def runs_of(folder: Path) -> list[dict[str, Any]]:
    """Return the training runs of a race without what clocks say."""
    lines = JsonLines(folder / "runs.jsonl", allow_nan=True)
    return [{key: line[key] for key in line if "seconds" not in key} for line in lines]


def test_a_race_whose_worker_is_killed_has_the_same_bytes(engine: str, tmp_path: Path) -> None:
    here, marker = os.getpid(), tmp_path / "killed"

    def fragile(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        # The probe trains four models, the race more than twenty.
        if os.getpid() != here:
            made = tmp_path / f"model {len(list(tmp_path.glob('model*')))} {os.getpid()}"
            made.touch()
            if len(list(tmp_path.glob("model*"))) > 10 and not marker.exists():
                marker.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
        return planted_network(n_channels, n_times, n_classes)

    alone = race("serial", tmp_path / "alone", fragile)
    together = race(engine, tmp_path / "together", fragile)
    assert marker.exists()
    assert together.verdict == alone.verdict
    assert runs_of(tmp_path / "together") == runs_of(tmp_path / "alone")
    for name in ("policy.json", "model.safetensors", "probe.json"):
        files = [tmp_path / folder / name for folder in ("alone", "together")]
        assert files[0].read_bytes() == files[1].read_bytes(), name


def test_a_probe_has_the_same_bytes_and_continues_on_another_engine(
    engine: str, tmp_path: Path
) -> None:
    class KilledError(Exception):
        pass

    def kill(event: object) -> None:
        raise KilledError

    def probe(engine: str, checkpoint: Path | None = None, **options: Any) -> bytes:
        result = cadda.probe(
            VALID,
            model=planted_network,
            operations=OPERATIONS,
            engine=engine,
            checkpoint=checkpoint,
            n_folds=4,
            n_epochs=3,
            device="cpu",
            **options,
        )
        result.save(tmp_path / "probe.json")
        return (tmp_path / "probe.json").read_bytes()

    alone, checkpoint = probe("serial"), tmp_path / "checkpoint.pt"
    folds: list[tuple[int, int]] = []
    together = probe(engine, on_event=lambda event: folds.append((event.fold, event.epoch)))
    assert together == alone
    assert folds == [(1, 3), (2, 3), (3, 3), (4, 3)]
    with pytest.raises(KilledError):
        probe(engine, checkpoint, on_event=kill)
    assert probe("serial", checkpoint) == alone


def test_a_comparison_is_the_same(engine: str, tmp_path: Path) -> None:
    settings = {
        "methods": ["none", "guided"],
        "n_folds": 2,
        "max_seconds": None,
        "model": "shallow",
        "operations": OPERATIONS[:2],
        "max_epochs": 1,
    }
    windows = tiny_windows()
    alone, together = (
        run_study("compare", data=windows, settings=settings, engine=name, out=tmp_path / str(i))
        for i, name in enumerate(("serial", engine))
    )
    assert together.table == alone.table
    scores = [
        sorted(record.result.model_dump_json(exclude={"seconds"}) for record in study.records)
        for study in (alone, together)
    ]
    assert scores[0] == scores[1]
