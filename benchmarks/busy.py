"""A training step on an idle and on a busy machine, by what threads do while they wait.

``python -m benchmarks busy`` times steps of chambon2018 with batches of 16 × 2 × 3000 in processes
of their own, with as many threads as there are cores: as torch does it, as the commands of cadda
set it (``GOMP_SPINCOUNT=1000``), and with one thread. Then it does so again beside one process
per core that only counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.table import Table

SETTINGS: dict[str, dict[str, str]] = {
    "as torch does it": {},
    "GOMP_SPINCOUNT=1000": {"GOMP_SPINCOUNT": "1000"},
    "OMP_NUM_THREADS=1": {"OMP_NUM_THREADS": "1"},
}
SECONDS = 3.0


def time_steps() -> float:
    """Return milliseconds per step, in this process."""
    from benchmarks.search_cost import SHAPES, make, plain_step

    step = plain_step(make(shape=SHAPES["2 × 3000"]), 16)
    for _ in range(3):
        step()
    start, n_steps = perf_counter(), 0
    while perf_counter() - start < SECONDS:
        step()
        n_steps += 1
    return 1e3 * (perf_counter() - start) / n_steps


def timed_with(settings: dict[str, str]) -> float:
    """Return milliseconds per step in a process with some environment variables."""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")
    others = {name: value for name, value in os.environ.items() if name not in names}
    code = "from benchmarks.busy import time_steps; print(time_steps())"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(  # noqa: S603
        command, env=others | settings, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep each core busy with a process that only counts."""
    command = [sys.executable, "-c", "while True: pass"]
    n_cores = os.cpu_count() or 1
    processes = [subprocess.Popen(command) for _ in range(n_cores)]  # noqa: S603
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def main() -> None:
    table = Table(title="milliseconds per training step")
    for column in ("threads", "idle", "busy"):
        table.add_column(column)
    idle = {name: timed_with(settings) for name, settings in SETTINGS.items()}
    with busy_cores():
        busy = {name: timed_with(settings) for name, settings in SETTINGS.items()}
    for name in SETTINGS:
        table.add_row(name, f"{idle[name]:.1f}", f"{busy[name]:.1f}")
    Console().print(table)
