"""Optuna is silent while cadda uses it, and only then and there; its file is never half."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Thread

import optuna
import pytest
from disk import watched_disk

from cadda.searchers.trials.optuna_store import _cut_half_line, quiet_optuna


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def records() -> _Records:
    handler, logger = _Records(), logging.getLogger("optuna")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def test_no_log_level_is_changed(records: _Records) -> None:
    level = optuna.logging.get_verbosity()
    logger = logging.getLogger("optuna.study")
    with quiet_optuna():
        assert optuna.logging.get_verbosity() == level
        logger.warning("of cadda")
        other = Thread(target=logger.warning, args=("of the user, in another thread",))
        other.start()
        other.join()
        logger.error("an error")
    logger.warning("of the user, afterwards")
    assert records.messages == [
        "of the user, in another thread",
        "an error",
        "of the user, afterwards",
    ]
    assert not records.filters


def test_half_a_line_is_removed_in_one_step(tmp_path: Path) -> None:
    """Whenever a process is killed, the trials that were complete remain."""
    path = tmp_path / "study.log"
    path.write_bytes(b'{"op_code": 0}\n{"op_co')
    seen = []
    with watched_disk(tmp_path, lambda _name, _path: seen.append(path.read_bytes())):
        _cut_half_line(path)
    assert path.read_bytes() == b'{"op_code": 0}\n'
    assert seen
    assert all(content.startswith(b'{"op_code": 0}\n') for content in seen)
