"""Experiment trackers get what happened; read back with their own software."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import attempt, run

import cadda
from cadda.tracking.metrics import Metrics
from cadda.tracking.trackers import TRACKERS, TensorBoard, open_trackers

POLICY = cadda.PolicySpec.from_text("sign_flip p=0.5 > time_mask p=0.2 m=0.5")
# Warnings of packages about packages.
ANY_WARNING = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def windows() -> cadda.Windows:
    rng = np.random.default_rng(0)
    return cadda.Windows(
        rng.normal(size=(48, 2, 64)), np.arange(48) % 2, subject=np.repeat(np.arange(6), 8),
        sfreq=64, ch_names=["C3", "C4"], class_names=["left", "right"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts(windows: cadda.Windows) -> tuple[cadda.Windows, ...]:
    return windows.split(valid=0.34, test=0.17)


def fit(parts: tuple[cadda.Windows, ...], log_to: str | list[str]) -> cadda.Fitted:
    return cadda.fit(*parts[:2], model="shallow", policy=POLICY, max_epochs=3, log_to=log_to)


def search(parts: tuple[cadda.Windows, ...], log_to: str) -> cadda.SearchResult:
    return cadda.search(
        *parts[:2], method="random", model="shallow", operations=["sign_flip", "time_mask"],
        budget=2, baseline=False, training=cadda.TrainingSettings(max_epochs=1), log_to=log_to,
    )  # fmt: skip


def expected_losses(fitted: cadda.Fitted) -> list[tuple[int, float]]:
    return [(event.epoch, event.valid_loss) for event in fitted.history]


class BoardReader:
    """Scalars and texts of event files, as TensorBoard itself reads them."""

    def __init__(self, folder: Path) -> None:
        accumulator = pytest.importorskip(
            "tensorboard.backend.event_processing.event_accumulator",
            reason="tensorboard is not installed: pip install 'cadda[tensorboard]'",
        )
        self._events = accumulator.EventAccumulator(str(folder))
        self._events.Reload()
        self.scalars = set(self._events.Tags()["scalars"])

    def scalar(self, tag: str) -> list[tuple[int, float]]:
        return [(event.step, event.value) for event in self._events.Scalars(tag)]

    def text(self, tag: str) -> str:
        (event,) = self._events.Tensors(f"{tag}/text_summary")
        return str(event.tensor_proto.string_val[0], "utf-8")


def test_tensorboard_of_a_training_run(parts: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    fitted = fit(parts, f"tensorboard:{tmp_path}")
    board = BoardReader(tmp_path)
    assert board.scalar("training/valid_loss") == [
        (epoch, pytest.approx(loss, rel=1e-6)) for epoch, loss in expected_losses(fitted)
    ]
    assert "| batch_size | 16 |" in board.text("settings")
    assert "| model | shallow |" in board.text("settings")


def test_tensorboard_of_a_search(parts: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    result = search(parts, f"tensorboard:{tmp_path}")
    board = BoardReader(tmp_path)
    frame = result.to_frame()
    values = [(n, pytest.approx(v, rel=1e-6)) for n, v in zip(frame.number, frame.value)]  # noqa: B905
    assert board.scalar("search/value") == values
    assert board.scalars >= {"applied/sign_flip", "retraining_0/train_loss"}
    ((step, accuracy),) = board.scalar("retrained/valid_balanced_accuracy")
    assert result.fitted is not None
    assert (step, accuracy) == (2, pytest.approx(result.fitted.best.valid_balanced_accuracy))
    assert str(result.policy).splitlines()[0] in board.text("policy")


def test_on_the_command_line(windows: cadda.Windows, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    windows.save(tmp_path / "data.npz")
    quick = ["--model", "shallow", "--max-epochs", "1"]
    board = f"tensorboard:{tmp_path / 'board'}"
    run("train", tmp_path / "data.npz", "--out", tmp_path / "a", *quick, "--log-to", board)
    run(
        *("search", tmp_path / "data.npz", "--out", tmp_path / "b", "--method", "random"),
        *("--budget", 1, "--operations", "sign_flip,time_mask", *quick, "--log-to", f"{board}2"),
    )
    assert len(BoardReader(tmp_path / "board").scalar("training/train_loss")) == 1
    assert len(BoardReader(tmp_path / "board2").scalar("search/value")) == 1
    wrong = run(
        *("search", tmp_path / "data.npz", "--out", tmp_path / "c", "--log-to", "board"), code=2
    )
    assert "`--log-to` must be tensorboard:FOLDER, mlflow[:URI] or wandb[:PROJECT]" in wrong.stderr
    assert not (tmp_path / "c" / "config.json").exists()


@pytest.mark.parametrize("board", ["run/board", "run"])
def test_tensorboard_in_the_folder_of_the_run(
    windows: cadda.Windows, tmp_path: Path, board: str
) -> None:
    """As docs/notebooks.md has it; its files are there before those of the search."""
    pytest.importorskip("tensorboard")
    windows.save(tmp_path / "data.npz")
    search_it = [
        *("search", tmp_path / "data.npz", "--out", tmp_path / "run", "--method", "random"),
        *("--budget", 1, "--operations", "sign_flip,time_mask", "--model", "shallow"),
        *("--max-epochs", 1, "--log-to", f"tensorboard:{tmp_path / board}"),
    ]
    # A command that ended before the search began leaves them as well.
    log = tmp_path / board / "events.out.tfevents.1.host"
    log.parent.mkdir(parents=True)
    log.touch()
    run(*search_it)
    log.unlink()
    assert len(BoardReader(tmp_path / board).scalar("search/value")) == 1
    assert (tmp_path / "run" / "report.html").exists()
    other = tmp_path / "other" / "notes" / "of-mine.txt"
    other.parent.mkdir(parents=True)
    other.touch()
    (other.parent / log.name).touch()
    search_it[3] = tmp_path / "other"
    refused = attempt(*search_it)
    assert "contains other files" in refused.stderr


def test_tensorboard_of_a_comparison(windows: cadda.Windows, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    windows.save(tmp_path / "data.npz")
    run(
        *("compare", tmp_path / "data.npz", "--methods", "none,zoo:sleep", "--folds", 2),
        *("--model", "shallow", "--max-epochs", 1, "--out", tmp_path / "out"),
        *("--log-to", f"tensorboard:{tmp_path / 'board'}"),
    )
    board = BoardReader(tmp_path / "board")
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    for offset, method in enumerate(("none", "zoo_sleep")):
        scores = [r["result"]["balanced_accuracy"] for r in results[offset::2]]
        assert board.scalar(f"compare/{method}/balanced_accuracy") == [
            (offset + 2 * fold, pytest.approx(score)) for fold, score in enumerate(scores)
        ]
    assert "| n_folds | 2 |" in board.text("settings")
    assert "Balanced accuracy on held-out subjects" in board.text("result")
    again = run(
        *("compare", tmp_path / "data.npz", "--out", tmp_path / "b", "--log-to", "board"), code=2
    )
    assert "`--log-to` must be tensorboard:FOLDER" in again.stderr
    assert not (tmp_path / "b").exists()


@ANY_WARNING
def test_mlflow(parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip(
        "mlflow", reason="mlflow is not installed: pip install 'cadda[mlflow]'"
    )
    monkeypatch.chdir(tmp_path)  # where MLflow puts texts
    address = f"sqlite:///{tmp_path / 'runs.db'}"
    fitted = fit(parts, f"mlflow:{address}")
    result = search(parts, f"mlflow:{address}")
    client = mlflow.MlflowClient(address)
    experiment = client.get_experiment_by_name("cadda").experiment_id
    runs = client.search_runs([experiment], order_by=["attributes.start_time"])
    assert [each.info.status for each in runs] == ["FINISHED"] * 2
    trained, searched = (each.info.run_id for each in runs)
    history = client.get_metric_history(trained, "training/valid_loss")
    assert [(m.step, m.value) for m in history] == expected_losses(fitted)
    assert runs[0].data.params["batch_size"] == "16"
    assert runs[1].data.params["method"] == "random"
    assert "storage" not in runs[1].data.params
    values = client.get_metric_history(searched, "search/value")
    assert [m.value for m in values] == result.to_frame().value.tolist()
    text = Path(client.download_artifacts(searched, "policy.txt", str(tmp_path))).read_text()
    assert text == str(result)
    with pytest.raises(cadda.CaddaError, match="`log_to` 'mlflow:nowhere://x' cannot be opened"):
        fit(parts, "mlflow:nowhere://x")


def wandb_records(path: Path) -> Iterator[Any]:
    """Yield the records of an offline run: protocol buffers in LevelDB's log format."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, record = path.read_bytes(), 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        record += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or its last part
            parsed = Record()
            parsed.ParseFromString(record)
            yield parsed
            record = b""


@ANY_WARNING
def test_wandb(parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip(
        "wandb", reason="wandb is not installed: pip install 'cadda[wandb]'"
    )
    for name, value in {"MODE": "offline", "DIR": str(tmp_path), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    fitted = fit(parts, "wandb:sleep")
    wandb.teardown()  # its process writes files late
    (file,) = tmp_path.rglob("*.wandb")
    records = list(wandb_records(file))
    (started,) = (record.run for record in records if record.HasField("run"))
    assert started.project == "sleep"
    assert {item.key: item.value_json for item in started.config.update}["batch_size"] == "16"
    rows = [
        {item.key or "/".join(item.nested_key): float(item.value_json) for item in r.history.item}
        for r in records
        if r.HasField("history")
    ]
    logged = [(int(row["training/step"]), row["training/valid_loss"]) for row in rows]
    assert logged == expected_losses(fitted)
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [0]


@pytest.mark.parametrize("text", ["tensorboard", "tensorboard:", "comet:x", "", "mlflows"])
def test_unknown_trackers(parts: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"`log_to` must be tensorboard:FOLDER, mlflow\[:URI\]"):
        fit(parts, text)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_package_that_is_missing(parts: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(cadda.CaddaError, match=rf"`log_to` '{name}:x' needs .*cadda\[{name}\]"):
        fit(parts, f"{name}:x")


def test_errors_of_a_tracker_do_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    calls: list[Metrics] = []

    def fail(self: TensorBoard, metrics: Metrics) -> None:
        calls.append(metrics)
        raise ConnectionError("no route to host")

    monkeypatch.setattr(TensorBoard, "log", fail)
    with open_trackers([f"tensorboard:{tmp_path}"], {}) as trackers:
        with pytest.warns(UserWarning, match="tensorboard logs no more: ConnectionError"):
            trackers(cadda.EpochEnd(1, 2, 0.5, 0.5, 0.5, is_best=True))
        trackers(cadda.EpochEnd(2, 2, 0.5, 0.5, 0.5, is_best=True))
    assert len(calls) == 1


def test_an_error_ends_runs_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    ends: list[bool] = []
    monkeypatch.setattr(TensorBoard, "close", lambda self, *, failed: ends.append(failed))
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), open_trackers(f"tensorboard:{tmp_path}", {}):
            raise error
    with open_trackers(f"tensorboard:{tmp_path}", {}):
        pass
    assert ends == [True, True, False]
