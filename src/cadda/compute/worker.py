"""What runs in a worker: tasks come in, answers go out."""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, ParamSpec, TypeVar

import cloudpickle

__all__ = ["SharedFile", "main", "read_frame", "run_alone", "write_frame"]

LENGTH = struct.Struct("<Q")
N_KEPT = 4
"""Shared values that a worker keeps in memory."""

_turn = Lock()

P = ParamSpec("P")
T = TypeVar("T")


class SharedFile:
    """A value that workers load from a file."""

    def __init__(self, path: Path) -> None:
        self.path = path


@lru_cache(maxsize=N_KEPT)
def _load(path: Path) -> Any:
    return cloudpickle.loads(path.read_bytes())


def read_frame(stream: IO[bytes]) -> bytes:
    """Read one message."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def write_frame(stream: IO[bytes], message: bytes) -> None:
    """Write one message."""
    stream.write(LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def run_alone(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function while no other task runs in this process.

    Dropout draws from a generator that the whole process shares: two models trained in two threads
    would take random numbers from each other.
    """
    with _turn:
        return function(*args, **kwargs)


def main() -> None:
    """Run tasks from standard input, one after the other, until it is closed."""
    # The process that started this one decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # What a user's model prints must not get between the answers.
    os.dup2(2, 1)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        write_frame(answers, _answer(tasks.get()))


def _receive(stream: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    """Pass tasks on; a worker does not outlive the process that it works for."""
    while True:
        try:
            tasks.put(read_frame(stream))
        except EOFError:
            os._exit(0)


def _answer(task: bytes) -> bytes:
    try:
        function, args, kwargs = cloudpickle.loads(task)
        values = [_load(arg.path) if isinstance(arg, SharedFile) else arg for arg in args]
        answer: bytes = cloudpickle.dumps((True, function(*values, **kwargs)))
        return answer
    except Exception as error:
        return _pickled_error(error)


def _pickled_error(error: Exception) -> bytes:
    """Pickle an error, or its text if it cannot be pickled and restored."""
    try:
        message: bytes = cloudpickle.dumps((False, error))
        cloudpickle.loads(message)
    except Exception:
        message = cloudpickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return message
