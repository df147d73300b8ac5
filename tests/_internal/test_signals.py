"""Signals that wait until a file is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cadda._internal.files import write_bytes_atomically
from cadda._internal.signals import signals_deferred
from cadda.training.checkpoint import load_checkpoint, save_checkpoint


class EndedError(BaseException):
    """What the handler of SIGTERM raises here."""


@pytest.fixture
def _ending() -> Iterator[None]:
    def end(*_: object) -> None:
        raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_ending")
def test_the_handler_is_called_at_the_end() -> None:
    reached: list[str] = []

    def block() -> None:
        with signals_deferred():
            signal.raise_signal(signal.SIGTERM)
            reached.append("end of the block")

    with pytest.raises(EndedError):
        block()
    assert reached
    with pytest.raises(EndedError):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("_ending")
def test_blocks_in_each_other() -> None:
    reached: list[str] = []

    def blocks() -> None:
        with signals_deferred():
            with signals_deferred():
                signal.raise_signal(signal.SIGTERM)
            reached.append("end of the outer block")

    with pytest.raises(EndedError):
        blocks()
    assert reached


def test_without_a_handler_nothing_is_deferred() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals_deferred():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_change_nothing() -> None:
    handlers = []

    def look() -> None:
        with signals_deferred():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


@pytest.mark.usefixtures("_ending")
def test_files_are_finished_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.save

    def interrupted(*arguments: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        real(*arguments)

    monkeypatch.setattr(torch, "save", interrupted)
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(EndedError):
        save_checkpoint(path, {"epoch": 3}, {"seed": 1})
    assert load_checkpoint(path, {"seed": 1}) == {"epoch": 3}

    real_replace = Path.replace

    def interrupted_replace(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGTERM)
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted_replace)
    with pytest.raises(EndedError):
        write_bytes_atomically(tmp_path / "a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "checkpoint.pt"]
