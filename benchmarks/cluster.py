"""Jobs on 1, 2 and 4 workers of Dask, relative to as many times one worker.

``python -m benchmarks cluster`` starts a scheduler and workers as processes of this machine, as on
a cluster. Jobs that only wait show what scheduling costs, even with more workers than cores;
training runs of a race (``chambon2018`` on 100 windows of 2 × 3000, one thread each) show what
remains of it where jobs compute: their ideal is one run after the other in this process, times the
workers that have a core. Results are kept in ``benchmarks/results/cluster.jsonl``; remove it
to measure again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.race_throughput import SETTINGS, Race
from benchmarks.records import Records
from benchmarks.timing import Ratio
from cadda.compute import open_engine
from cadda.compute.processes import n_cores
from cadda.training import TrainingSettings

N_WORKERS = (1, 2, 4)
N_WAITING, SECONDS = 80, 0.25
"""Jobs that wait, and for how long each."""
N_RUNS, N_EPOCHS = 16, 10
"""Training runs, and the epochs of each."""
SECONDS_TO_START = 120
WANTED = {"waiting": 0.95, "training": 0.9}


@contextmanager
def running_cluster(n_workers: int) -> Iterator[str]:
    """Start a scheduler and workers as processes; yield the address."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        file = Path(folder) / "scheduler.json"
        shared = ["--scheduler-file", str(file)]
        quiet = ["--port", "0", "--dashboard-address", ":0"]
        processes.enter_context(_process("scheduler", *quiet, *shared))
        _wait_for(file.exists)
        for _ in range(n_workers):
            options = ["--nthreads", "1", "--no-dashboard", "--local-directory", folder]
            processes.enter_context(_process("worker", *options, *shared))
        address: str = json.loads(file.read_text())["address"]
        with open_engine(f"dask:{address}") as engine:
            _wait_for(lambda: engine.n_workers == n_workers)
        yield address


@contextmanager
def _process(kind: str, *options: str) -> Iterator[None]:
    command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{kind}", *options]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(  # noqa: S603
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, **quiet
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"Dask did not start within {SECONDS_TO_START} s")
        time.sleep(0.05)


def jobs_per_minute_waiting(engine: str, n_jobs: int = N_WAITING) -> float:
    """Run jobs that only wait."""
    with open_engine(engine) as workers:
        for future in [workers.submit(time.sleep, 0.0) for _ in range(2 * workers.n_workers)]:
            future.result()
        start = time.perf_counter()
        futures = [workers.submit(time.sleep, SECONDS) for _ in range(n_jobs)]
        for future in workers.finished(futures):
            future.result()
        return 60 * n_jobs / (time.perf_counter() - start)


def make_race(n_runs: int = N_RUNS, n_epochs: int = N_EPOCHS) -> Race:
    """Make the training runs that are timed."""
    setting = SETTINGS["chambon2018-100"]
    training = TrainingSettings(max_epochs=n_epochs, patience=n_epochs, batch_size=16)
    return Race(setting, setting.problem(), training, n_runs)


def measure(kind: str, n_workers: int) -> dict[str, float]:
    """Return jobs per minute; without workers, one after the other in this process."""
    run = jobs_per_minute_waiting if kind == "waiting" else make_race().run
    if not n_workers:
        return {"jobs_per_minute": run("serial")}
    with running_cluster(n_workers) as address:
        return {"jobs_per_minute": run(f"dask:{address}")}


def share_of_ideal(record: Mapping[str, Any], serial: Mapping[str, Any]) -> float:
    """Return the jobs per minute, relative to those of one process times the workers."""
    n_workers = record["workers"]
    if record["kind"] == "training":
        n_workers = min(n_workers, record["cores"])
    return float(record["jobs_per_minute"] / serial["jobs_per_minute"] / n_workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(WANTED), help=", ".join(WANTED))
    parser.add_argument("--workers", type=int, nargs="+", default=list(N_WORKERS))
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(WANTED):
        parser.error(f"unknown kinds: {', '.join(sorted(unknown))}")
    records, table = Records("cluster"), Table("jobs", "per minute", "share", "wanted", "")
    for kind in arguments.kinds:
        made = {
            n: records.get(
                lambda k=kind, n=n: measure(k, n), kind=kind, workers=n, cores=n_cores()
            )
            for n in (0, *arguments.workers)
        }
        for n_workers in arguments.workers:
            share = share_of_ideal(made[n_workers], made[0])
            row = Ratio(f"{kind}, {n_workers} workers", share, WANTED[kind]).row()
            table.add_row(row[0], f"{made[n_workers]['jobs_per_minute']:.1f}", *row[1:])
    Console(highlight=False).print(table)
