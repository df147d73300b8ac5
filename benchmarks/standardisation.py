"""What it matters whether windows are standardised one by one or per recording.

``python -m benchmarks standardisation --folder DIR --work DIR`` trains without augmentation on the
recorded sets of the panel and on simulated sleep, standardised per recording, in the first draws
of the panel, where ``python -m benchmarks panel`` has trained on windows that are standardised one
by one. Results are kept in ``benchmarks/results/standardisation.jsonl``; a rerun computes what is
missing. ``--table`` prints the paired differences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.equivariance import Gain
from benchmarks.panel import add_run_arguments, run_plan
from benchmarks.panel_jobs import NONE
from benchmarks.panel_plan import Kept, panel_plan
from benchmarks.panel_sets import PER_RECORDING, SETS, Cell
from benchmarks.panel_table import compare, describe, scores
from benchmarks.records import Records

__all__ = ["Difference", "differences", "main", "recording_cells"]


class Difference(NamedTuple):
    """Accuracies of models of windows in both units, and the gain of that per recording."""

    title: str
    n_usable: int
    window: float
    recording: float
    gain: Gain


def recording_cells() -> list[Cell]:
    """Return the draws that results are reported of."""
    return [
        Cell(name, size, draw)
        for name, data in PER_RECORDING.items()
        for size in data.sizes
        for draw in data.draws
    ]


def differences() -> Iterator[Difference]:
    """Compare draws that were trained in both units, a set at a time."""
    per_window, per_recording = (Kept(Records(n).all()) for n in ("panel", "standardisation"))
    for name, data in PER_RECORDING.items():
        plain, (size,) = name.removesuffix("-recording"), data.sizes
        made = scores(per_recording, name, size, NONE)
        reference = scores(per_window, plain, size, NONE)
        gain = compare(made, reference)
        if gain is not None:
            both = [draw for draw in made if draw in reference]
            yield Difference(
                SETS[plain].title,
                size,
                fmean(reference[draw] for draw in both),
                fmean(made[draw] for draw in both),
                gain,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="print the results, and stop")
    add_run_arguments(parser)
    arguments = parser.parse_args()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    is_complete = arguments.table or run_plan(
        panel_plan(recording_cells(), [NONE]),
        Records("standardisation"),
        folder=arguments.folder.resolve(),
        work=arguments.work.resolve(),
        engine=f"processes:{arguments.jobs}",
        console=console,
    )
    table = Table("data", "subjects", "per window", "per recording", "gain per recording")
    for row in differences():
        accuracies = (f"{value:.3f}" for value in (row.window, row.recording))
        table.add_row(row.title, str(row.n_usable), *accuracies, describe(row.gain))
    console.print(table)
    if not is_complete:
        raise SystemExit("Some jobs failed; a rerun tries them again.")
