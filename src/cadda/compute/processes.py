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
from typing import IO, Any, cast

import cloudpickle

from cadda.compute.base import Engine
from cadda.compute.worker import SharedFile, read_frame, write_frame
from cadda.exceptions import WorkerError

__all__ = ["ATTEMPTS", "ProcessEngine", "threads_per_worker"]

ATTEMPTS = 3
"""How often a task is begun; a worker that it was given to may be killed."""


def threads_per_worker(n_workers: int) -> int:
    """Divide the threads that this process may use among workers.

    Parameters
    ----------
    n_workers : int
        Number of workers.

    Returns
    -------
    int
        Threads for each, at least 1.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    n_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    n_threads = min(n_cores, int(limit)) if limit.isdigit() else n_cores
    return max(1, n_threads // n_workers)


class _Worker:
    """A Python process of its own that does tasks.

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
        """Have a task done; `EOFError` or `OSError` if the worker died over it."""
        write_frame(self.tasks, task)
        return read_frame(self.answers)

    def kill(self) -> int:
        """End it at once, and say with which code it ended."""
        self.process.kill()
        code = self.process.wait()
        self.answers.close()
        # A task that the dead worker did not take cannot be flushed.
        with suppress(OSError):
            self.tasks.close()
        return code


class ProcessEngine(Engine):
    """Works in processes of its own, each with its share of the threads.

    A killed worker is replaced, and the task that it worked on is begun again: each process has
    one task at a time, so that no other is concerned.

    Parameters
    ----------
    n_workers : int
        Number of processes.
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
        """Numbers of the processes that were started and have not ended."""
        with self._lock:
            return sorted(one.process.pid for one in self._workers)

    def share(self, value: object) -> Any:
        path = Path(self._folder.name) / f"{self._n_shared}.pickle"
        self._n_shared += 1
        path.write_bytes(cloudpickle.dumps(value))
        return SharedFile(path)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._have_done, cloudpickle.dumps((function, args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the workers.

        Parameters
        ----------
        wait : bool
            Whether to let them finish what was submitted; if not, they are killed.
        cancel_futures : bool
            Whether to give up tasks that have not begun.
        """
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

    def _have_done(self, task: bytes) -> Any:
        worker = self._idle.get()
        code = 0
        try:
            for _ in range(ATTEMPTS):
                worker = worker or self._start()
                try:
                    is_result, value = cloudpickle.loads(worker.do(task))
                except (EOFError, OSError):
                    code, worker = self._bury(worker), None
                    continue
                if is_result:
                    return value
                raise value
        finally:
            self._idle.put(worker)
        raise WorkerError(
            f"{ATTEMPTS} workers died over the same task, the last one with exit code {code}; "
            "there may be too little memory for so many workers."
        )

    def _start(self) -> _Worker:
        with self._lock:
            if not self._is_open:
                raise WorkerError("the engine was closed.")
            worker = _Worker(self._n_threads)
            self._workers.add(worker)
            return worker

    def _bury(self, worker: _Worker) -> int:
        with self._lock:
            self._workers.discard(worker)
        return worker.kill()
