"""A Dask scheduler and workers as processes, as on a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# What tests set in the configuration of Dask before this is imported would remove its defaults.
import distributed as distributed


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition holds; fail if it does not."""
    end = time.monotonic() + seconds
    while not condition():
        time.sleep(0.02)
        assert time.monotonic() < end


class DaskProcesses:
    """A scheduler, and workers that can be started and killed."""

    def __init__(self, folder: Path, *options: str, protocol: str = "tcp") -> None:
        self.folder, self.options, self.file = folder, options, folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--protocol", protocol, "--dashboard-address", ":0"
        )
        wait_for(self._is_written)

    @property
    def address(self) -> str:
        address: str = json.loads(self.file.read_text())["address"]
        return address

    def _is_written(self) -> bool:
        """Check for the file, which is empty for a moment."""
        try:
            return bool(self.address)
        except (OSError, ValueError):
            return False

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny: nothing starts it again if it is killed."""
        local = ["--local-directory", str(self.folder), "--no-dashboard", "--no-nanny"]
        self.workers.append(self._start("worker", "--nthreads", "1", *local, *options))
        return self.workers[-1]

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{kind}"]
        shared = ["--scheduler-file", str(self.file), *self.options]
        return subprocess.Popen(
            [*command, *options, *shared], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


@contextmanager
def dask_processes(folder: Path, *options: str, protocol: str = "tcp") -> Iterator[DaskProcesses]:
    """Start a scheduler; end it and all workers."""
    cluster = DaskProcesses(folder, *options, protocol=protocol)
    try:
        yield cluster
    finally:
        cluster.stop()
