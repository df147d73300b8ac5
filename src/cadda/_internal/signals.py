"""Signals that wait until a file is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["signals_deferred"]


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Deliver Ctrl-C and SIGTERM at the end of the block.

    Raised in the middle of it, their exceptions can become other errors in the code of torch, and
    leave a temporary file. Signals that end the process at once are not changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    try:
        for number in handlers:
            signal.signal(number, lambda *received: waiting.append(received))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received, frame in waiting[:1]:
            handlers[signal.Signals(received)](received, frame)
