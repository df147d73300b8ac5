"""Draw one-step rewards against gains of full training runs, from the kept results.

``make readme`` runs it.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
sys.path += [str(DOCS), str(DOCS.parent)]

from benchmarks.records import Records  # noqa: E402
from pictures import IMAGES, save  # noqa: E402

CONTROLS = {"white noise": "C3", "scrambled blocks": "C1"}
SHOWN = "motor-imagery"
NAMED = "found by CADDA"
"""The candidate that rewards prefer."""


def main() -> None:
    """Draw the picture from the kept results."""
    records = [record for record in Records("one_step").all() if record["set"] == SHOWN]
    if records:
        save(plot_one_step(records), IMAGES / "one_step.png")


def plot_one_step(records: list[dict[str, Any]]) -> Figure:
    """Draw a panel for each moment of training, with a point for each candidate and rotation."""
    epochs = [moment["epoch"] for moment in records[0]["moments"]]
    figure = Figure(figsize=(3 * len(epochs), 3.4), layout="constrained")
    panels = figure.subplots(1, len(epochs), sharex=True, sharey=True, squeeze=False)[0]
    for column, (axes, epoch) in enumerate(zip(panels, epochs, strict=True)):
        moments = [record["moments"][column] for record in records]
        accuracy = np.mean([moment["train_accuracy"] for moment in moments])
        axes.set_title(f"epoch {epoch}, training accuracy {accuracy:.2f}", fontsize=9)
        for record, moment in zip(records, moments, strict=True):
            draw_moment(axes, record["gains"], moment["rewards"])
        axes.set_xlabel("gain in full training runs (log loss)", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("paired one-step reward")
    handles = {line.get_label(): line for line in panels[0].get_legend_handles_labels()[0]}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_moment(axes: Axes, gains: dict[str, Any], rewards: dict[str, Any]) -> None:
    """Draw rewards against gains, with standard errors, and lines for the controls."""
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.axvline(0, color="0.6", linewidth=0.8)
    for name, (gain, error, _) in gains.items():
        found = rewards[name]
        label, colour = (NAMED, "C2") if name == NAMED else ("other candidates", "C0")
        axes.errorbar(
            gain, found["reward"], found["error"], error or 0.0, marker="o", markersize=4,
            linewidth=0.8, color=colour, label=label,
        )  # fmt: skip
    for name, colour in CONTROLS.items():
        axes.axhline(rewards[name]["reward"], color=colour, linestyle="--", label=name)


if __name__ == "__main__":
    main()
