"""The table of one-step rewards against gains of full training runs, for docs/why-one-step.md."""

from statistics import fmean
from typing import Any

from benchmarks.one_step import EPOCHS, Agreement
from benchmarks.panel_sets import SETS
from benchmarks.records import Records
from table_cells import markdown_table


def agreement_table() -> str:
    """Return rank correlations, and how many candidates are below white noise, by set."""
    cells: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in Records("one_step").all():
        cells.setdefault((record["set"], record["n_usable"]), []).append(record)
    rows = [
        [
            f"{SETS[name].title}, {n_usable} subjects",
            str(len(records[0]["gains"])),
            *(describe_moment(records, number) for number in range(len(EPOCHS))),
        ]
        for (name, n_usable), records in cells.items()
    ]
    columns = ("data", "candidates", *(f"epoch {epoch}" for epoch in EPOCHS))
    return markdown_table(columns, rows)


def describe_moment(records: list[dict[str, Any]], number: int) -> str:
    """Return the rank correlation of each training run, and the mean share below white noise."""
    made = [Agreement.of(record["gains"], record["moments"][number]) for record in records]
    ranks = ", ".join(f"{agreement.rank_correlation:+.2f}" for agreement in made)
    below = fmean(agreement.below_noise for agreement in made)
    return f"{ranks}; {100 * below:.0f} %".replace("-", "−")
