"""The panel's fists without slow activity: what augmentation gains above 4 Hz.

In the recordings of imagined and executed fists, activity below 4 Hz, probably of the eyes, is
enough to tell left from right. ``python -m benchmarks highpassed --folder DIR --work DIR`` filters
the windows with MNE's zero-phase high-pass at 4 Hz, and repeats those conditions of the panel that
need no long search, with 12 usable subjects in the first five draws of the panel. The files hold
no signals around the windows, so the filter leaves traces of slow activity at the ends of each;
0.8 s at both ends, the reach of the filter, are cut off, and windows of 2.4 s remain.

Results are kept in ``benchmarks/results/highpassed.jsonl``; a rerun computes what is missing.
``--table`` prints them.
"""

from __future__ import annotations

import argparse

from rich.console import Console

from benchmarks.panel import add_run_arguments, run_plan
from benchmarks.panel_plan import STAGES, Kept, panel_plan
from benchmarks.panel_sets import FILTERED, Cell
from benchmarks.panel_table import summary_tables
from benchmarks.records import Records

__all__ = ["CONDITIONS", "highpassed_cells", "main"]

CONDITIONS = STAGES[0]


def highpassed_cells(draws: list[int] | None = None) -> list[Cell]:
    """Return some draws of both sets; None for those that results are reported of."""
    return [
        Cell(name, size, draw)
        for name, data in FILTERED.items()
        for size in data.sizes
        for draw in draws or data.draws
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, nargs="+", help="only these draws")
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=CONDITIONS)
    parser.add_argument("--table", action="store_true", help="print the results, and stop")
    add_run_arguments(parser)
    arguments = parser.parse_args()
    records = Records("highpassed")
    console = Console(highlight=False, markup=False, soft_wrap=True)
    is_complete = arguments.table or run_plan(
        panel_plan(highpassed_cells(arguments.draws), arguments.conditions),
        records,
        folder=arguments.folder.resolve(),
        work=arguments.work.resolve(),
        engine=f"processes:{arguments.jobs}",
        console=console,
    )
    console.print(summary_tables(Kept(records.all()), FILTERED))
    if not is_complete:
        raise SystemExit("Some jobs failed; a rerun tries them again.")
