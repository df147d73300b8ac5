"""Draw what searches gain on unseen subjects, from the results of the panel.

``make readme`` runs it.
"""

import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
sys.path += [str(DOCS), str(DOCS.parent)]

from benchmarks.panel_plan import Kept  # noqa: E402
from benchmarks.panel_table import TITLES, Row, compare, panel_rows  # noqa: E402
from benchmarks.records import Records  # noqa: E402
from pictures import IMAGES, save  # noqa: E402

COLOURS = {
    "duplicates": "0.6",
    "uniform": "C5",
    "randaugment": "C4",
    "random": "C6",
    "autoaugment": "0.2",
    "adda": "C0",
    "probed-adda": "C9",
    "cadda": "C2",
    "probed-cadda": "C8",
    "guided": "C1",
    "auto": "C3",
}
"""Colours of the conditions, from top to bottom in each row."""
MIN_DRAWS = 3
"""Draws from which on an interval is drawn."""
FILLED = 0.8
"""Part of the height of a row that has points."""


def main() -> None:
    """Draw the picture from the kept results."""
    rows = panel_rows(Kept(Records("panel").all()))
    if rows:
        save(plot_panel(rows), IMAGES / "panel.png")


def plot_panel(rows: list[Row]) -> Figure:
    """Draw differences to no augmentation with their intervals, one band for each row."""
    figure = Figure(figsize=(9, 1.2 + 0.85 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color="0.4", linewidth=1)
    for place, row in enumerate(rows):
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color="0.95", zorder=0)
        draw_row(axes, row, place)
    axes.set_yticks(range(len(rows)), [label(row) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        "gain in balanced accuracy on unseen subjects: draws, their mean and its 95 % interval"
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles = {line.get_label(): line for line in axes.get_legend_handles_labels()[0]}
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=5, frameon=False)
    return figure


def label(row: Row) -> str:
    """Return the name of a row, with the accuracy that gains are added to."""
    plain = list(row.scores["none"].values())
    mean = sum(plain) / len(plain)
    return f"{row.title}\nnone: {mean:.3f}, {len(plain)} draws"


def draw_row(axes: Axes, row: Row, place: int) -> None:
    """Draw the conditions of a row one below the other."""
    present = [condition for condition in COLOURS if row.scores[condition]]
    distance = FILLED / max(len(present), 2)
    plain = row.scores["none"]
    for number, condition in enumerate(present):
        made, colour = row.scores[condition], COLOURS[condition]
        height = place + (number - (len(present) - 1) / 2) * distance
        draws = [made[draw] - plain[draw] for draw in made if draw in plain]
        axes.plot(draws, [height] * len(draws), ".", color=colour, alpha=0.35, markersize=5)
        gain = compare(made, plain)
        if gain is None:
            continue
        mean = gain.test.difference
        axes.errorbar(
            mean.value,
            height,
            # Two draws tell nothing about the next.
            xerr=[[mean.value - mean.low], [mean.high - mean.value]]
            if gain.n_draws >= MIN_DRAWS
            else None,
            color=colour,
            marker="D" if condition == "auto" else "o",
            markersize=5,
            linewidth=2 if condition == "auto" else 1.2,
            label=TITLES[condition],
        )


if __name__ == "__main__":
    main()
