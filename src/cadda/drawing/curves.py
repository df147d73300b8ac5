"""Curves of a training run."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator

from cadda.drawing.figure import Figure
from cadda.drawing.panels import COLOURS, DASHES, remove_frame

__all__ = ["plot_training"]


def plot_training(
    train_loss: Sequence[float],
    valid_loss: Sequence[float],
    valid_accuracy: Sequence[float],
    *,
    best_epoch: int,
) -> Figure:
    """Draw losses and balanced accuracy over the epochs, with a mark at the best epoch."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    losses, accuracies = figure.subplots(1, 2)
    epochs = range(1, len(train_loss) + 1)
    for label, values, colour, dashes in (
        ("training", train_loss, COLOURS[1], DASHES[1]),
        ("validation", valid_loss, COLOURS[0], DASHES[0]),
    ):
        losses.plot(epochs, values, color=colour, linestyle=dashes, label=label)
    accuracies.plot(epochs, valid_accuracy, color=COLOURS[0], label="validation")
    for axes, title in ((losses, "Loss"), (accuracies, "Balanced accuracy")):
        label = f"weights of epoch {best_epoch}"
        axes.axvline(best_epoch, color="0.5", linewidth=1, linestyle=":", label=label)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch", fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(fontsize=8, frameon=False)
        remove_frame(axes)
    return figure
