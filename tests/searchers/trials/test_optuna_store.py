"""Optuna is silent while cadda uses it, and only then and there."""

from __future__ import annotations

import logging
from threading import Thread

import optuna
import pytest

from cadda.searchers.trials.optuna_store import quiet_optuna


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
