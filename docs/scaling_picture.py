"""Draw how time and memory grow with the number of nights, and write tables of docs/scaling.md.

``make readme`` runs it.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
sys.path += [str(DOCS), str(DOCS.parent)]

from benchmarks.cluster import share_of_ideal  # noqa: E402
from benchmarks.nights import (  # noqa: E402
    COLUMNS,
    MAX_CACHED_SECONDS,
    nights_per_minute,
    row_of,
    seconds_per_thousand,
)
from benchmarks.records import Records  # noqa: E402
from pictures import IMAGES, save  # noqa: E402
from table_cells import markdown_table  # noqa: E402

PAGE = DOCS / "scaling.md"
STEPS = {"read": "read", "cached": "read from the cache", "train": "train", "search": "search"}

Record = Mapping[str, Any]


def main() -> None:
    """Draw the picture and write the tables from the kept results."""
    nights = sorted(Records("nights").all(), key=lambda record: record["nights"])
    if nights:
        save(plot_scaling(nights), IMAGES / "scaling.png")
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def updated(text: str) -> str:
    """Return the page with the tables of the kept results."""
    nights = sorted(Records("nights").all(), key=lambda record: record["nights"])
    tables = {"nights": nights_table(nights), "cluster": cluster_table(Records("cluster").all())}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n\n{end}{rest.split(end)[1]}"
    return text


def nights_table(records: Sequence[Record]) -> str:
    """Return a row for each number of nights."""
    rows = [[*row_of(record), f"{record['load_before']:.1f}"] for record in records]
    return markdown_table([*COLUMNS, "load"], rows)


def cluster_table(records: Sequence[Record]) -> str:
    """Return a row for each kind of job and number of workers."""
    serial = {record["kind"]: record for record in records if not record["workers"]}
    rows = [
        [
            record["kind"],
            str(record["workers"]),
            f"{record['jobs_per_minute']:.0f}",
            f"{share_of_ideal(record, serial[record['kind']]):.2f}",
        ]
        for record in records
        if record["workers"]
    ]
    return markdown_table(("jobs", "workers", "per minute", "share of ideal"), rows)


def plot_scaling(records: Sequence[Record]) -> Figure:
    """Draw four panels over the number of nights."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    reading, cache, training, memory = figure.subplots(2, 2).flat
    reading.set(title="reading and filtering", ylabel="nights per minute")
    names = {"read": "cadda, two processes", "mne": "MNE, one process"}
    draw_steps(reading, records, names, nights_per_minute)
    cache.set(title="reading from the cache", ylabel="seconds")
    draw_steps(
        cache, records, {"cached": None}, lambda record, step: record["steps"][step]["seconds"]
    )
    cache.axhline(MAX_CACHED_SECONDS, color="0.6", linestyle="--", label="wanted")
    training.set(title="training and searching, one thread", ylabel="seconds per 1,000 windows")
    draw_steps(training, records, {"search": "ADDA", "train": "training"}, seconds_per_thousand)
    memory.set(title="peak memory beside the mapped windows", ylabel="MB")
    draw_steps(memory, records, STEPS, lambda record, step: record["steps"][step]["megabytes"])
    for axes in (reading, cache, training, memory):
        axes.title.set_fontsize(10)
        axes.legend(frameon=False)
        axes.set_xlabel("nights")
        axes.set_xticks([0, *(record["nights"] for record in records)])
        axes.set_ylim(0, None)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_steps(
    axes: Axes,
    records: Sequence[Record],
    names: Mapping[str, str | None],
    value: Callable[[Record, str], float],
) -> None:
    """Draw a line for each step, under its name."""
    x = [record["nights"] for record in records]
    for step, label in names.items():
        axes.plot(x, [value(record, step) for record in records], "o-", label=label)


if __name__ == "__main__":
    main()
