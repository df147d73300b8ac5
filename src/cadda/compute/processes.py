"""Workers in other processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import IO, Any, ParamSpec, TypeVar, cast

import cloudpickle

from cadda.compute.base import Engine
from cadda.compute.worker import SharedFile, read_frame, write_frame
from cadda.exceptions import WorkerError

__all__ = ["ATTEMPTS", "ProcessEngine", "threads_per_worker"]

ATTEMPTS = 3
"""Attempts at a task whose workers die."""

P = ParamSpec("P")
T = TypeVar("T")


def threads_per_worker(n_workers: int) -> int:
    """Return the number of threads of each worker."""
    has_affinity = hasattr(os, "sched_getaffinity")
    n_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    n_threads = min(n_cores, int(limit)) if limit.isdigit() else n_cores
    return max(1, n_threads // n_workers)


class _Worker:
    """A Python process that runs tasks.

    It is started anew and not forked, since forked threads and locks of torch can hang; it does
    not import the user's main module, so that scripts need no guard around their code.
    """

    def __init__(self, n_threads: int) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from cadda.compute.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": str(n_threads)},
        )
        self.tasks = cast(IO[bytes], self.process.stdin)
        self.answers = cast(IO[bytes], self.process.stdout)

    def do(self, task: bytes) -> bytes:
        """Run a task; raises `EOFError` or `OSError` if the worker dies."""
        write_frame(self.tasks, task)
        return read_frame(self.answers)

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
        self._folder = TemporaryDirectory(prefix="cadda-")
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
        path = Path(self._folder.name) / f"{self._n_shared}.pickle"
        self._n_shared += 1
        path.write_bytes(cloudpickle.dumps(value))
        return SharedFile(path)

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
        self._folder.cleanup()

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
