"""Workers in other processes of this machine: who starts them, and what runs in them."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, ParamSpec, TypeVar, cast

import cloudpickle

from cadda._internal.locks import temporary_folder
from cadda._internal.rows import shared_by_file
from cadda._internal.text import short_reason
from cadda.compute.allocation import keep_freed_memory
from cadda.compute.base import Engine
from cadda.exceptions import WorkerError

__all__ = ["ATTEMPTS", "ProcessEngine", "main", "n_cores", "threads_per_worker"]

ATTEMPTS = 3
"""Attempts at a task whose workers die."""

LENGTH = struct.Struct("<Q")
N_KEPT = 4
"""Shared values that a worker keeps in memory."""

P = ParamSpec("P")
T = TypeVar("T")


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def threads_per_worker(n_workers: int) -> int:
    """Return the number of threads of each worker."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    n_threads = min(n_cores(), int(limit)) if limit.isdigit() else n_cores()
    return max(1, n_threads // n_workers)


class _Worker:
    """A Python process that runs tasks.

    It is spawned, not forked, since forked threads and locks of torch can hang; it does
    not import the user's main module, so that scripts need no guard around their code.
    """

    def __init__(self, n_threads: int) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from cadda.compute.processes import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": str(n_threads)},
            # Ctrl-C in a terminal is for the process that started this one, even while it imports.
            process_group=0,
        )
        self.tasks = cast(IO[bytes], self.process.stdin)
        self.answers = cast(IO[bytes], self.process.stdout)

    def do(self, task: bytes) -> bytes:
        """Run a task; raises `EOFError` or `OSError` if the worker dies."""
        _write_frame(self.tasks, task)
        return _read_frame(self.answers)

    def kill(self) -> int:
        """Kill the process, and return its exit code."""
        self.process.kill()
        code = self.process.wait()
        self.answers.close()
        # A task that the dead worker did not take cannot be flushed.
        with suppress(OSError):
            self.tasks.close()
        return code


class ProcessEngine(Engine):
    """Runs tasks in processes, each with its share of the threads.

    A killed worker is replaced, and its task starts again. Each process has one task at a time,
    so that no other task is affected.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._n_threads = threads_per_worker(n_workers)
        self._resources = ExitStack()
        self._folder = self._resources.enter_context(temporary_folder())
        self._n_shared = 0
        self._threads = ThreadPoolExecutor(n_workers)
        self._lock, self._is_open = Lock(), True
        self._workers: set[_Worker] = set()
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        for _ in range(n_workers):
            self._idle.put(None)

    @property
    def worker_ids(self) -> list[int]:
        """Process ids of the running workers."""
        with self._lock:
            return sorted(worker.process.pid for worker in self._workers)

    def share(self, value: object) -> Any:
        path = self._folder / f"{self._n_shared}.pickle"
        self._n_shared += 1
        try:
            with shared_by_file():
                path.write_bytes(cloudpickle.dumps(value))
        except OSError as error:
            raise WorkerError(
                f"cannot write {path}: {short_reason(error)}; set TMPDIR to a folder with space."
            ) from error
        return _SharedFile(path)

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._threads.submit(
            self._run_with_retries, cloudpickle.dumps((function, args, kwargs))
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the workers."""
        if not wait:
            self._kill_all()
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures or not wait)
        self._kill_all()
        self._resources.close()

    def _kill_all(self) -> None:
        with self._lock:
            self._is_open = False
            while self._workers:
                self._workers.pop().kill()

    def _run_with_retries(self, task: bytes) -> Any:
        worker = self._idle.get()
        code = 0
        try:
            for _ in range(ATTEMPTS):
                worker = worker or self._start()
                try:
                    is_result, value = cloudpickle.loads(worker.do(task))
                except (EOFError, OSError):
                    code, worker = self._discard(worker), None
                    continue
                if is_result:
                    return value
                raise value
        finally:
            self._idle.put(worker)
        raise WorkerError(
            f"{ATTEMPTS} workers died while running the same task, the last with exit code "
            f"{code}; use fewer workers if the memory is exhausted."
        )

    def _start(self) -> _Worker:
        with self._lock:
            if not self._is_open:
                raise WorkerError("the engine was closed.")
            worker = _Worker(self._n_threads)
            self._workers.add(worker)
            return worker

    def _discard(self, worker: _Worker) -> int:
        with self._lock:
            self._workers.discard(worker)
        return worker.kill()


class _SharedFile:
    """A value that workers load from a file."""

    def __init__(self, path: Path) -> None:
        self.path = path


@lru_cache(maxsize=N_KEPT)
def _load(path: Path) -> Any:
    return cloudpickle.loads(path.read_bytes())


def _read_frame(stream: IO[bytes]) -> bytes:
    """Read one message."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def _write_frame(stream: IO[bytes], message: bytes) -> None:
    """Write one message."""
    stream.write(LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def main() -> None:
    """Run tasks from standard input, one after the other, until it is closed."""
    # The process that started this one decides when to stop.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # What a user's model prints must not get between the answers.
    os.dup2(2, 1)
    keep_freed_memory()
    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        _write_frame(answers, _answer(tasks.get()))


def _receive(stream: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    """Pass tasks on; a worker does not outlive the process that it works for."""
    while True:
        try:
            tasks.put(_read_frame(stream))
        except EOFError:
            os._exit(0)


def _answer(task: bytes) -> bytes:
    try:
        function, args, kwargs = cloudpickle.loads(task)
        values = [_load(arg.path) if isinstance(arg, _SharedFile) else arg for arg in args]
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
