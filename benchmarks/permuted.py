"""How often `auto` claims a gain where there is nothing to learn.

``python -m benchmarks permuted --folder DIR --work DIR`` permutes the labels within each of six
usable subjects, of ``motor-imagery-epo.fif.gz`` and of simulated sleep, and counts the searches
out of 40 that recommend augmentation. Results are kept in ``benchmarks/results/permuted.jsonl``; a
rerun computes what is missing.
"""

from __future__ import annotations

import argparse

from rich.console import Console

from benchmarks.panel import add_run_arguments, run_plan
from benchmarks.panel_jobs import AUTO
from benchmarks.panel_plan import Kept, Plan, search_steps
from benchmarks.panel_sets import Cell
from benchmarks.records import Records

SETS = ("motor-imagery", "simulated-sleep")
N_USABLE = 6
N_DRAWS = 20


def permuted_cells() -> list[Cell]:
    """Return the draws of both sets in turn."""
    return [Cell(name, N_USABLE, draw, permuted=True) for draw in range(N_DRAWS) for name in SETS]


def claims(kept: Kept, cells: list[Cell]) -> list[bool]:
    """Return for each finished search whether it claims a gain."""
    found = (kept.search(cell, AUTO) for cell in cells)
    return [not record["is_none"] for record in found if record is not None]


def describe_claims(claimed: list[bool]) -> str:
    """Return how many searches claim a gain, with a 95 % interval of the rate."""
    from scipy.stats import binomtest

    if not claimed:
        return "No search is finished."
    low, high = binomtest(sum(claimed), len(claimed)).proportion_ci(0.95)
    return (
        f"auto claims a gain in {sum(claimed)} of {len(claimed)} searches on permuted labels "
        f"(95 % interval of the rate: {low:.3f} to {high:.3f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_run_arguments(parser)
    arguments = parser.parse_args()
    records, console = Records("permuted"), Console(highlight=False, markup=False, soft_wrap=True)
    cells = permuted_cells()
    is_complete = run_plan(
        Plan(lambda kept: (search_steps(cell, AUTO, kept) for cell in cells)),
        records,
        folder=arguments.folder.resolve(),
        work=arguments.work.resolve(),
        engine=f"processes:{arguments.jobs}",
        console=console,
    )
    console.print(describe_claims(claims(Kept(records.all()), cells)))
    if not is_complete:
        raise SystemExit("Some jobs failed; a rerun tries them again.")
