"""Draw what operations that change the class are worth, from the results of the benchmark.

``make readme`` runs it.
"""

import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

DOCS = Path(__file__).parent
sys.path += [str(DOCS), str(DOCS.parent)]

from benchmarks.equivariance import (  # noqa: E402
    BEST_KEPT,
    SEARCH_ALL_PROBED,
    STUDIES,
    TWICE,
    Record,
    compare,
    mean_by_size,
    scores,
)
from benchmarks.records import Records  # noqa: E402
from pictures import IMAGES, save  # noqa: E402

STYLES = {
    "none": ("0.5", "o"),
    TWICE: ("0.5", "x"),
    BEST_KEPT: ("C0", "s"),
    "mapped": ("C3", "o"),
    "mapped, time_mask": ("C1", "^"),
    "mapped, flips of 8": ("C1", "v"),
    SEARCH_ALL_PROBED: ("C2", "D"),
}
SHOWN = ("motor-imagery", "mnist")
APART = 0.03
"""Horizontal distance between intervals, as a share of the position."""


def main() -> None:
    """Draw the picture from the kept results."""
    save(plot_equivariance(Records("equivariance").all()), IMAGES / "equivariance.png")


def plot_equivariance(records: list[Record]) -> Figure:
    """Draw accuracies, and below them gains over no augmentation, by size of the training set."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    columns = figure.subplots(2, len(SHOWN), sharex="col").T
    for name, (upper, lower) in zip(SHOWN, columns, strict=True):
        draw_accuracy(upper, records, name)
        draw_gain(lower, records, name)
        upper.set_title(STUDIES[name].title)
        lower.set_xlabel(STUDIES[name].unit)
        lower.set_xscale("log")
        lower.xaxis.set(minor_locator=NullLocator(), minor_formatter=NullFormatter())
        lower.set_xticks(STUDIES[name].sizes, map(str, STUDIES[name].sizes))
        upper.legend(fontsize=8, loc="lower right")
    columns[0][0].set_ylabel("balanced accuracy on test windows")
    columns[0][1].set_ylabel("gain over none, 95 % interval over draws")
    return figure


def draw_accuracy(axes: Axes, records: list[Record], name: str) -> None:
    """Draw the mean over draws of each condition."""
    for condition, (colour, marker) in STYLES.items():
        means = mean_by_size(scores(records, name, condition))
        if means:
            title, line = STUDIES[name].titles[condition], "--" if condition == TWICE else "-"
            axes.plot(
                *zip(*means.items(), strict=True), line, c=colour, marker=marker, label=title
            )


def draw_gain(axes: Axes, records: list[Record], name: str) -> None:
    """Draw paired differences from training without augmentation."""
    axes.axhline(0, color="0.7", linewidth=1)
    plain = scores(records, name, "none")
    for place, (condition, (colour, marker)) in enumerate(list(STYLES.items())[1:]):
        made = scores(records, name, condition)
        for size in STUDIES[name].sizes:
            if gain := compare(made, plain, size):
                mean = gain.test.difference
                axes.errorbar(
                    size * (1 + APART * (place - 2)),
                    mean.value,
                    [[mean.value - mean.low], [mean.high - mean.value]],
                    color=colour,
                    marker=marker,
                )


if __name__ == "__main__":
    main()
