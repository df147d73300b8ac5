"""How the search and the trainings went, as charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cadda.policies.spec.describe import row_label
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.html.charts import Chart, Line, Series, line_chart
from cadda.reporting.html.record import Learning, SearchCurves
from cadda.reporting.html.words import number, percent

__all__ = ["Evolution", "evolution_of", "learning_chart", "progress_charts"]

N_COLOURED = 6
"""Operations that get a colour of their own; the others are grey."""

MOST_POINTS = 50_000
"""Points in all charts of the evolution together, so that the page stays small."""

PANELS = (
    ("share", "how often it is chosen"),
    ("probability", "probability p once chosen"),
    ("magnitude", "magnitude µ"),
)


@dataclass(frozen=True)
class Evolution:
    """How a policy changed during the search.

    Parameters
    ----------
    legend : tuple of Line
        Operations with a colour of their own.
    rows : tuple of (str, tuple of Chart)
        For each class, how often operations are chosen, p and µ.
    """

    legend: tuple[Line, ...]
    rows: tuple[tuple[str, tuple[Chart, ...]], ...]


def progress_charts(curves: SearchCurves) -> tuple[Chart, ...]:
    """Draw the validation loss, and how undecided the search was.

    Parameters
    ----------
    curves : SearchCurves
        How it went.

    Returns
    -------
    tuple of Chart
        One or two charts.
    """
    loss = _trials_chart(curves) if curves.unit == "trial" else _loss_chart(curves)
    if curves.entropy is None:
        return (loss,)
    first, last = curves.entropy[[0, -1]]
    undecided = line_chart(
        [Series(curves.number, 100 * curves.entropy, "main")],
        title="How undecided the choice of operations is (100 is uniform)",
        alt=f"Entropy of the choices goes from {percent(first)} to {percent(last)} of that of a "
        f"uniform choice over {len(curves.number)} epochs.",
        x_label="epoch of the search",
    )
    return loss, undecided


def evolution_of(curves: SearchCurves, operations: Sequence[str], policy: PolicySpec) -> Evolution:
    """Draw how often each operation was chosen, and how, over the search.

    Parameters
    ----------
    curves : SearchCurves
        How it went.
    operations : sequence of str
        Operations, in the order of the tables.
    policy : PolicySpec
        The policy found, which knows the names of the rows.

    Returns
    -------
    Evolution
        Charts by class.
    """
    curves = _thinned(curves)
    last = curves.tables["applied"][-1].max(0)
    ranked = np.argsort(-last, kind="stable")[:N_COLOURED].tolist()
    styles = {n: f"op-{place + 1}" for place, n in enumerate(ranked)}
    rows = tuple(
        (
            row_label(name),
            tuple(_panel(curves, row, *panel, operations, styles) for panel in PANELS),
        )
        for row, name in enumerate(policy.rows)
    )
    legend = tuple(Line("", styles[n], operations[n]) for n in ranked)
    others = (Line("", "other", "others"),) if len(operations) > N_COLOURED else ()
    return Evolution((*legend, *others), rows)


def learning_chart(trainings: Sequence[Learning]) -> Chart:
    """Draw the losses of the trainings from scratch.

    Parameters
    ----------
    trainings : sequence of Learning
        The trainings; the one with the policy comes first.

    Returns
    -------
    Chart
        Training and validation loss over the epochs, with a dot at the weights that were kept.
    """
    series, words = [], []
    for i, one in reversed(list(enumerate(trainings))):
        style = "plain" if i else "main"
        epochs = np.arange(1, len(one.valid_loss) + 1)
        best, loss = one.best_epoch, one.valid_loss[one.best_epoch - 1]
        series += [
            Series(epochs, one.train_loss, f"{style} dashed", f"{one.name}: training"),
            Series(epochs, one.valid_loss, style, f"{one.name}: validation"),
            Series([best], [loss], f"{style} dot", dots=True),
        ]
        words.append(f"{one.name}, lowest validation loss {number(loss)} in epoch {best}")
    return line_chart(
        series,
        title="Loss of the trainings from scratch; the dot is where weights were kept",
        alt=f"Learning curves: {'; '.join(words)}.",
        x_label="epoch of the training",
    )


def _thinned(curves: SearchCurves) -> SearchCurves:
    """Leave out epochs or trials, evenly, where there are more than can be drawn."""
    n_epochs, *shape = curves.tables["applied"].shape
    n_kept = max(2, MOST_POINTS // (len(PANELS) * math.prod(shape)))
    kept = np.unique(np.linspace(0, n_epochs - 1, n_kept).round().astype(int))
    tables = {name: table[kept] for name, table in curves.tables.items()}
    return replace(curves, number=curves.number[kept], tables=tables)


def _loss_chart(curves: SearchCurves) -> Chart:
    series = [Series(curves.number, curves.valid_loss, "main", "model of the search")]
    words = (
        f"Validation loss of the model of the search goes from {number(curves.valid_loss[0])} to "
        f"{number(curves.valid_loss[-1])}"
    )
    if curves.retrained:
        places, losses = zip(*curves.retrained, strict=True)
        series.append(Series(places, losses, "plain dot", "trained from scratch", dots=True))
        words += f"; trained from scratch it is {', '.join(map(number, losses))}"
    return line_chart(
        series, title="Validation loss", alt=f"{words}.", x_label="epoch of the search"
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
        alt=f"Validation loss of {len(best)} trials: the best goes from {number(best[0])} to "
        f"{number(best[-1])}; {failed} failed.",
        x_label="trial",
    )


def _panel(
    curves: SearchCurves,
    row: int,
    field: str,
    title: str,
    operations: Sequence[str],
    styles: dict[int, str],
) -> Chart:
    values = curves.tables[field][:, row]
    # Grey ones first, so that they are behind.
    order = sorted(range(len(operations)), key=lambda n: n in styles)
    series = [Series(curves.number, values[:, n], styles.get(n, "other")) for n in order]
    leading = ", ".join(
        f"{operations[n]} {values[-1, n]:.2f}" for n in styles if np.isfinite(values[-1, n])
    )
    trials = curves.unit == "trial"
    return line_chart(
        series,
        title=title,
        alt=f"{title}, at the end: {leading}.",
        x_label="trial, best policy so far" if trials else "epoch of the search",
        y_span=(0.0, max(0.1, 1.06 * float(np.nanmax(values, initial=0.0)))),
        style="small",
    )
