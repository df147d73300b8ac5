"""Whole data sets: reading, training and searching with as many nights as Sleep Physionet.

``python -m benchmarks nights`` writes 153 simulated nights as EDF files to a temporary folder and
measures reading and preprocessing in two processes, beside MNE's own reading and filtering of the
same files in one; reading from the cache; an epoch of training and steps of ADDA with
``chambon2018`` on one thread; and the peak memory of each, as ``benchmarks.memory`` does.
``--nights 5 20 60 153`` shows how each grows. Results are kept in ``benchmarks/results/
nights.jsonl``; ``docs/scaling_picture.py`` draws them. 153 nights take 8 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.memory import peak_of
from benchmarks.night_files import N_NIGHTS, N_WINDOWS, write_nights
from benchmarks.night_steps import ENGINE, STEPS
from benchmarks.records import Records
from benchmarks.timing import Ratio

GIGABYTES_PER_NIGHT = 0.055
"""EDF files, and cached windows of each recording and of all together."""
MAX_CACHED_SECONDS = 2.0
LEAST_RATIO = 1.0
"""Nights per minute in two processes, relative to MNE in one."""


def measure(n_nights: int, folder: Path | None, *, n_windows: int = N_WINDOWS) -> dict[str, Any]:
    """Measure everything with a number of nights."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=folder, prefix="nights-") as temporary:
        root = Path(temporary)
        _check_space(root, n_nights)
        nights = root / "nights"
        nights.mkdir()
        write_nights(n_nights, nights, n_windows=n_windows)
        size = sum(file.stat().st_size for file in nights.iterdir())
        steps = {name: _measure_step(name, nights, root) for name in STEPS}
    return {"load_before": load, "gigabytes": size / 1e9, "steps": steps}


def _check_space(folder: Path, n_nights: int) -> None:
    free, needed = shutil.disk_usage(folder).free / 1e9, GIGABYTES_PER_NIGHT * n_nights
    if free < needed:
        raise SystemExit(
            f"{folder.parent} has {free:.1f} GB free, and {n_nights} nights need {needed:.1f} GB; "
            "choose another place with --folder."
        )


def _measure_step(name: str, nights: Path, root: Path) -> dict[str, float]:
    script, result = [sys.executable, "-W", "ignore", "-m", "benchmarks.night_steps"], root / name
    environment = {"CADDA_CACHE": str(root / "cache"), "OMP_NUM_THREADS": "1"}
    peak, _ = peak_of([*script, name, str(nights), str(result)], **environment)
    numbers: dict[str, float] = json.loads(result.read_text())
    return numbers | {"megabytes": peak / 1e6}


def nights_per_minute(record: Mapping[str, Any], step: str) -> float:
    """Return how many nights a step reads in a minute."""
    return float(60 * record["nights"] / record["steps"][step]["seconds"])


def seconds_per_thousand(record: Mapping[str, Any], step: str) -> float:
    """Return how long a step takes for 1,000 windows."""
    numbers = record["steps"][step]
    return float(1000 * numbers["seconds"] / numbers["n_windows"])


def ratios(record: Mapping[str, Any]) -> Iterator[Ratio]:
    """Compare the numbers of a size with what is wanted."""
    nights = f"{record['nights']} nights"
    reading = nights_per_minute(record, "read") / nights_per_minute(record, "mne")
    yield Ratio(f"{nights}: read by {ENGINE} / by MNE", reading, LEAST_RATIO)
    cached = record["steps"]["cached"]["seconds"]
    yield Ratio(f"{nights}: seconds from the cache", cached, MAX_CACHED_SECONDS, is_cost=True)


def row_of(record: Mapping[str, Any]) -> list[str]:
    """Return the numbers of a size as text."""
    steps = record["steps"]
    return [
        str(record["nights"]),
        f"{steps['cached']['n_windows']:,}",
        *(f"{nights_per_minute(record, step):.0f}" for step in ("read", "mne")),
        f"{steps['cached']['seconds']:.2f}",
        *(f"{seconds_per_thousand(record, step):.2f}" for step in ("train", "search")),
        " / ".join(f"{steps[step]['megabytes']:.0f}" for step in ("read", "train", "search")),
    ]


COLUMNS = (
    "nights", "windows", "nights per minute", "by MNE", "from the cache, s",
    "epoch, s per 1,000 windows", "ADDA, s per 1,000 windows", "MB: read / train / search",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, nargs="+", default=[N_NIGHTS], help="sizes")
    parser.add_argument("--folder", type=Path, help="where to write; default: temporary files")
    arguments = parser.parse_args()
    records = Records("nights")
    results, summary = Table(*COLUMNS), Table("what", "got", "wanted", "")
    for n_nights in arguments.nights:
        made = records.get(lambda n=n_nights: measure(n, arguments.folder), nights=n_nights)
        results.add_row(*row_of(made))
        for ratio in ratios(made):
            summary.add_row(*ratio.row())
    console = Console(highlight=False)
    console.print(results)
    console.print(summary)
