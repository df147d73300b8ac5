"""How policies carry over: what is found on one set of the panel is tried on the others.

``python -m benchmarks carry_over --folder DIR --work DIR`` trains with each policy of the zoo, and
with each policy that `auto` found in the panel, on all sets whose channels and classes it fits.
In each draw the policy is that of the same draw of its own set, with the largest number of usable
subjects. Scores are compared with those of the panel without augmentation, so it needs the results
of ``benchmarks/panel.py``. Results are kept in ``benchmarks/results/carry_over.jsonl``; a rerun
computes what is missing.

Sets of movements are recordings of the same people, so those that a policy was found with may be
among the test subjects of another set, with other recordings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.equivariance import Gain
from benchmarks.panel import add_run_arguments, run_plan
from benchmarks.panel_jobs import AUTO, NONE, Job
from benchmarks.panel_plan import Kept, Plan, Steps
from benchmarks.panel_sets import N_RUNS, SETS, Cell
from benchmarks.panel_table import cell_score, compare
from benchmarks.records import Records
from cadda.policies.zoo import ZOO

N_DRAWS = 5

Policies = Mapping[str, str]
"""Short texts of policies by the names of their sources."""


def policies(cell: Cell, panel: Kept, folder: Path) -> Policies:
    """Return the policies that are tried in a draw: of the zoo, and of `auto` on other sets."""
    pool = pool_of(cell, folder)
    zoo = {
        item.full_name: item.spec(pool.class_names)
        for item in ZOO.values()
        if item.suits(pool) or not item.spec().label_maps
    }
    made = {name: spec.to_text() for name, spec in zoo.items() if is_applicable(spec, pool)}
    for name, data in SETS.items():
        found = panel.search(Cell(name, max(data.sizes), cell.draw), AUTO)
        if name == cell.set or found is None or found["is_none"]:
            continue
        spec = cadda.PolicySpec.from_text(found["policy"])
        # Classes of a class-wise policy are those of its own set.
        if not spec.is_classwise and is_applicable(spec, pool):
            made[name] = found["policy"]
    return made


def is_applicable(policy: cadda.PolicySpec, pool: cadda.OperationPool) -> bool:
    """Return whether a pool has all operations of a policy and all classes of its label maps."""
    known = set(pool.class_names)
    return set(policy.operations_used) <= set(pool.names) and all(
        known.issuperset(item.mapping) for item in policy.label_maps
    )


@lru_cache(maxsize=len(SETS))
def _pool(name: str, folder: Path) -> cadda.OperationPool:
    return cadda.operation_pool(Cell(name, max(SETS[name].sizes), 0).parts(folder, 0).train)


def pool_of(cell: Cell, folder: Path) -> cadda.OperationPool:
    """Return the operations for the windows of a draw."""
    return _pool(cell.set, folder)


def carry_over_cells() -> list[Cell]:
    """Return the first draws with the largest number of usable subjects."""
    return [
        Cell(name, max(data.sizes), draw)
        for name, data in SETS.items()
        for draw in data.draws[:N_DRAWS]
    ]


def carry_over_plan(panel: Kept, folder: Path) -> Plan:
    """Plan the training runs with all policies that the panel has found."""

    def groups(kept: Kept) -> Iterator[Steps]:
        for cell in sorted(carry_over_cells(), key=lambda cell: cell.draw):
            if cell_score(panel, cell, NONE) is None:
                continue
            for source, text in policies(cell, panel, folder).items():
                jobs = [
                    Job("training", cell, source, number, policy=text) for number in range(N_RUNS)
                ]
                yield iter([jobs])

    return Plan(groups)


def gains(kept: Kept, panel: Kept) -> dict[str, dict[str, Gain]]:
    """Return the gain of each source on each set, over the draws that have both scores."""
    sources = [item.full_name for item in ZOO.values()] + list(SETS)
    made: dict[str, dict[str, Gain]] = {}
    for name in SETS:
        cells = {cell.draw: cell for cell in carry_over_cells() if cell.set == name}
        plain = scores(panel, cells, NONE)
        for source in sources:
            reached = (
                scores(panel, cells, AUTO, only_found=True)
                if source == name
                else scores(kept, cells, source)
            )
            gain = compare(reached, plain)
            if gain is not None:
                made.setdefault(source, {})[name] = gain
    return made


def scores(
    kept: Kept, cells: Mapping[int, Cell], condition: str, *, only_found: bool = False
) -> dict[int, float]:
    """Return the scores of a condition by draw; ``only_found`` leaves out answers of none."""
    made = {draw: cell_score(kept, cell, condition) for draw, cell in cells.items()}
    return {
        draw: score
        for draw, score in made.items()
        if score is not None and not (only_found and _is_none(kept, cells[draw], condition))
    }


def _is_none(kept: Kept, cell: Cell, condition: str) -> bool:
    found = kept.search(cell, condition)
    return found is not None and bool(found["is_none"])


def title(source: str) -> str:
    """Return what tables call a source."""
    return SETS[source].title if source in SETS else source


def table_of(made: Mapping[str, Mapping[str, Gain]]) -> Table:
    """Return the gains for the terminal: sources in rows, sets in columns."""
    table = Table(title="gain in balanced accuracy over no augmentation, mean over draws")
    for column in ("policy of", *(data.title for data in SETS.values())):
        table.add_column(column)
    for source, row in made.items():
        cells = (
            f"{row[name].test.difference.value:+.3f} ({row[name].n_draws})" if name in row else ""
            for name in SETS
        )
        table.add_row(title(source), *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_run_arguments(parser)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    records, console = Records("carry_over"), Console(highlight=False, markup=False)
    panel = Kept(Records("panel").all())
    is_complete = run_plan(
        carry_over_plan(panel, folder),
        records,
        folder=folder,
        work=arguments.work.resolve(),
        engine=f"processes:{arguments.jobs}",
        console=console,
    )
    console.print(table_of(gains(Kept(records.all()), panel)))
    if not is_complete:
        raise SystemExit("Some jobs failed; a rerun tries them again.")
