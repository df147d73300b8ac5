"""All ratios of speed in one table, wanted beside got; this is what ``make bench`` prints.

``python -m benchmarks summary --seconds 0.3`` measures each alternative for that long. The single
benchmarks, such as ``python -m benchmarks speed``, print more about what is compared.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from time import perf_counter

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import search_cost, speed, stacked, training
from benchmarks.timing import Ratio


def measure(seconds: float, console: Console) -> Iterator[Ratio]:
    """Yield the ratios of all benchmarks of speed, and say what is measured."""
    parts = (
        ("speed", speed.ratios(seconds)),
        ("training", training.ratios(3 * seconds)),
        ("search_cost", search_cost.ratios(3 * seconds)),
        ("stacked", stacked.ratios()),
    )
    for name, ratios in parts:
        start = perf_counter()
        console.print(f"measuring {name} …", end="")
        found = list(ratios)
        console.print(f" {perf_counter() - start:.0f} s")
        yield from found


def table_of(ratios: Iterable[Ratio]) -> Table:
    """Make the table; its caption counts what was missed."""
    made = list(ratios)
    table = Table(title="Ratios of speed", title_justify="left")
    table.add_column("what")
    for heading in ("got", "wanted", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for ratio in made:
        table.add_row(*ratio.row())
    n_missed = sum(not ratio.is_met for ratio in made)
    table.caption = f"{n_missed} of {len(made)} missed"
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.4, help="per alternative")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    console.print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, braindecode "
        f"{version('braindecode')}, {platform.machine()}; one run, alternatives timed in turn."
    )
    console.print(table_of(measure(arguments.seconds, console)))
