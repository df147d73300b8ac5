"""What is written down about the commands that work on a run."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path

import pytest

from cadda.runs.folder import DataSource, RunFolder, Split, TrainingConfig
from cadda.runs.sessions import recorded_session
from cadda.searchers.events import SearchStart
from cadda.training import TrainingSettings

COMMAND = "cadda search night.npz --out run"


def begun(folder: Path) -> RunFolder:
    run = RunFolder(folder / "run")
    run.begin(
        TrainingConfig(
            data=DataSource("night.npz", "a", "b", "c"),
            reading=None,
            model="shallow",
            training=TrainingSettings(),
            policy=None,
            split=Split(("s1",), ("s2",), ("s3",)),
        )
    )
    return run


def start(*texts: str) -> SearchStart:
    return SearchStart(
        "adda",
        classwise=False,
        n_epochs=2,
        epoch=0,
        operations=("sign_flip",),
        class_names=("a", "b"),
        log10_policies=1.0,
        warnings=texts,
    )


def test_sessions_are_added_one_after_the_other(tmp_path: Path) -> None:
    run = begun(tmp_path)
    with recorded_session(run.folder, COMMAND) as session:
        session(start("a is rare"))
    interrupted = recorded_session(run.folder, f"{COMMAND} --resume")
    with pytest.raises(KeyboardInterrupt), interrupted:
        raise KeyboardInterrupt
    first, second = json.loads(run.sessions.read_text())
    assert (first["command"], first["finished"]) == (COMMAND, True)
    assert first["warnings"] == ["a is rare"]
    assert (second["command"], second["finished"]) == (f"{COMMAND} --resume", False)
    assert 0 <= first["seconds"] < 10
    assert first["machine"]["cores"] >= 1
    assert first["versions"]["torch"]


def test_a_killed_command_leaves_a_record(tmp_path: Path) -> None:
    run = begun(tmp_path)
    killed = recorded_session(run.folder, COMMAND)
    killed.__enter__()(start())
    (left,) = json.loads(run.sessions.read_text())
    assert (left["command"], left["finished"]) == (COMMAND, False)
    with recorded_session(run.folder, f"{COMMAND} --resume") as session:
        session(start())
    assert [session["finished"] for session in json.loads(run.sessions.read_text())] == [
        False,
        True,
    ]


def test_what_is_refused_leaves_no_record(tmp_path: Path) -> None:
    run = begun(tmp_path)
    refused = recorded_session(run.folder, COMMAND)
    with pytest.raises(ValueError, match="wrong"), refused:
        raise ValueError("wrong")
    with recorded_session(tmp_path / "none", COMMAND):
        pass
    assert not run.sessions.exists()
    assert not (tmp_path / "none").exists()


def complain(logger: logging.Logger) -> None:
    warnings.warn("in volts", stacklevel=1)
    logger.warning("%d windows are left out", 3)
    logger.info("not worth a word")


def test_warnings_are_kept_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, logger = begun(tmp_path), logging.getLogger("cadda.data.io.read")
    monkeypatch.setattr(logging.root, "handlers", [])
    with (
        pytest.warns(UserWarning, match="in volts"),
        recorded_session(run.folder, COMMAND),
    ):
        complain(logger)
    (session,) = json.loads(run.sessions.read_text())
    assert session["warnings"] == ["in volts", "3 windows are left out"]
    assert "3 windows are left out" in capsys.readouterr().err
    assert not logging.getLogger("cadda").handlers


@pytest.mark.parametrize("content", [b"[{}]", b"", b"\xff"])
def test_damaged_list_is_begun_anew(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = begun(tmp_path)
    run.sessions.write_bytes(content)
    with recorded_session(run.folder, COMMAND):
        pass
    (session,) = json.loads(run.sessions.read_text())
    (said,) = caplog.messages
    assert "sessions.json is damaged" in said
    assert session["warnings"] == [said]
