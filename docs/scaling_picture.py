"""Draw how time and memory grow with the number of nights, and write tables of docs/scaling.md.

``make readme`` runs it.
"""

import sys
from collections.abc import Mapping, Sequence
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
    panels = figure.subplots(2, 2)
    draw_reading(panels[0, 0], records)
    draw_cache(panels[0, 1], records)
    draw_training(panels[1, 0], records)
    draw_memory(panels[1, 1], records)
    for axes in panels.flat:
        axes.set_xlabel("nights")
        axes.set_xticks([0, *(record["nights"] for record in records)])
        axes.set_ylim(0, None)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_reading(axes: Axes, records: Sequence[Record]) -> None:
    """Draw nights per minute."""
    x = [record["nights"] for record in records]
    for step, label in {"read": "cadda, two processes", "mne": "MNE, one process"}.items():
        axes.plot(x, [nights_per_minute(record, step) for record in records], "o-", label=label)
    axes.set_title("reading and filtering", fontsize=10)
    axes.set_ylabel("nights per minute")
    axes.legend(frameon=False)


def draw_cache(axes: Axes, records: Sequence[Record]) -> None:
    """Draw the time of reading from the cache."""
    seconds = [record["steps"]["cached"]["seconds"] for record in records]
    axes.plot([record["nights"] for record in records], seconds, "o-")
    axes.axhline(MAX_CACHED_SECONDS, color="0.6", linestyle="--", label="wanted")
    axes.set_title("reading from the cache", fontsize=10)
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)


def draw_training(axes: Axes, records: Sequence[Record]) -> None:
    """Draw seconds per 1,000 windows."""
    x = [record["nights"] for record in records]
    for step, label in {"search": "ADDA", "train": "training"}.items():
        axes.plot(x, [seconds_per_thousand(record, step) for record in records], "o-", label=label)
    axes.set_title("training and searching, one thread", fontsize=10)
    axes.set_ylabel("seconds per 1,000 windows")
    axes.legend(frameon=False)


def draw_memory(axes: Axes, records: Sequence[Record]) -> None:
    """Draw the peak memory of each step, beside the size of all windows."""
    x = [record["nights"] for record in records]
    for step, label in STEPS.items():
        axes.plot(x, [record["steps"][step]["megabytes"] for record in records], "o-", label=label)
    axes.set_title("peak memory beside the mapped windows", fontsize=10)
    axes.set_ylabel("MB")
    axes.legend(frameon=False)


if __name__ == "__main__":
    main()
