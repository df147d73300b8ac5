"""Charts of the progress of a search and of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cadda.reporting.charts import Chart, Series, line_chart
from cadda.reporting.html.formatting import number, percent
from cadda.reporting.records import LearningCurve, SearchCurves

__all__ = ["learning_chart", "progress_charts"]


def progress_charts(curves: SearchCurves) -> tuple[Chart, ...]:
    """Draw the validation loss and, for methods by gradients, the entropy of the choices."""
    loss = _trials_chart(curves) if curves.unit == "trial" else _loss_chart(curves)
    if curves.entropy is None:
        return (loss,)
    first, last = curves.entropy[[0, -1]]
    entropy = line_chart(
        [Series(curves.number, 100 * curves.entropy, "main")],
        title="Entropy of the choice of operations (% of a uniform choice)",
        alt=f"Entropy of the choices changes from {percent(first)} to {percent(last)} of that of "
        f"a uniform choice over {len(curves.number)} epochs.",
        x_label="epoch of the search",
    )
    return loss, entropy


def learning_chart(curves: Sequence[LearningCurve]) -> Chart:
    """Draw training and validation loss of models, with a dot where weights were kept."""
    series, texts = [], []
    for i, curve in reversed(list(enumerate(curves))):
        style = "plain" if i else "main"
        epochs = np.arange(1, len(curve.valid_loss) + 1)
        best, loss = curve.best_epoch, curve.valid_loss[curve.best_epoch - 1]
        series += [
            Series(epochs, curve.train_loss, f"{style} dashed", f"{curve.name}: training"),
            Series(epochs, curve.valid_loss, style, f"{curve.name}: validation"),
            Series([best], [loss], f"{style} dot", dots=True),
        ]
        texts.append(f"{curve.name}, lowest validation loss {number(loss)} in epoch {best}")
    return line_chart(
        series,
        title="Loss of the models trained from scratch; dots mark the weights that were kept",
        alt=f"Learning curves: {'; '.join(texts)}.",
        x_label="epoch of training",
    )


def _loss_chart(curves: SearchCurves) -> Chart:
    series = [Series(curves.number, curves.valid_loss, "main", "model of the search")]
    text = (
        f"Validation loss of the model of the search changes from {number(curves.valid_loss[0])} "
        f"to {number(curves.valid_loss[-1])}"
    )
    if curves.retrained:
        epochs, losses = zip(*curves.retrained, strict=True)
        series.append(Series(epochs, losses, "plain dot", "trained from scratch", dots=True))
        text += f"; of models trained from scratch: {', '.join(map(number, losses))}"
    return line_chart(
        series, title="Validation loss", alt=f"{text}.", x_label="epoch of the search"
    )


def _trials_chart(curves: SearchCurves) -> Chart:
    failed = int(np.isnan(curves.valid_loss).sum())
    best = np.fmin.accumulate(curves.valid_loss)
    series = [
        Series(curves.number, curves.valid_loss, "plain dot", "each trial", dots=True),
        Series(curves.number, best, "main", "best so far"),
    ]
    return line_chart(
        series,
        title="Validation loss of the trials" + (f"; {failed} failed" if failed else ""),
        alt=f"Validation loss of {len(best)} trials: the best changes from {number(best[0])} to "
        f"{number(best[-1])}; {failed} failed.",
        x_label="trial",
    )
