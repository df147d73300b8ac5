"""A race for readers of the report: a chart, and tables of candidates and operations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cadda._internal.statistics import Estimate
from cadda.drawing.panels import COLOURS
from cadda.reporting.charts import Chart, Series, Span, line_chart
from cadda.reporting.figures.candidates import gain_span, span_of
from cadda.reporting.html.formatting import count, duration, number, signed
from cadda.reporting.race import CandidateRow, RaceFacts, RaceVerdict

__all__ = ["CandidateLine", "Decision", "RaceView", "view_race"]


@dataclass(frozen=True)
class CandidateLine:
    """A candidate in a table."""

    name: str
    policy: str
    n_blocks: int
    gain: str
    error: str
    accuracy: Estimate
    place: Estimate | None  # the same as fractions of the axis of the bars; None if outside
    style: str  # CSS class of its bar
    status: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """The chosen candidate in blocks that had no part in the choice."""

    name: str
    n_blocks: int
    accuracy: Estimate
    place: Estimate | None
    gain: str = ""  # of the loss; not measured there
    error: str = ""
    style: str = "main"


@dataclass(frozen=True)
class RaceView:
    """Everything that a report shows of a race."""

    sentence: str
    effort: str
    chart: Chart
    zero: float  # as a fraction of the axis of the bars
    decision: Decision | None
    survivors: tuple[CandidateLine, ...]
    dropped: tuple[CandidateLine, ...]
    operations: tuple[tuple[str, CandidateLine], ...]


def view_race(facts: RaceFacts) -> RaceView:
    """Prepare a race for readers."""
    styles, span = _styles(facts), _accuracy_span(facts)
    lines = {row.name: _line(row, styles[row.name], span) for row in facts.candidates}
    return RaceView(
        sentence=facts.sentence,
        effort=f"{count(facts.n_runs, 'training run')} in {duration(facts.seconds)}, "
        f"{facts.runs_per_minute:.0f} per minute.",
        chart=_chart(facts, styles),
        zero=_fraction(0.0, span),
        decision=None if facts.decision is None else _decision(facts.decision, span),
        survivors=tuple(lines[row.name] for row in facts.survivors),
        dropped=tuple(lines[row.name] for row in facts.dropped),
        operations=tuple((name, lines[row.name]) for name, row in facts.operations.items()),
    )


def _styles(facts: RaceFacts) -> dict[str, str]:
    """Return a colour for each of the best candidates, and grey for the others."""
    styles = {row.name: "other" if row.is_dropped else "plain" for row in facts.candidates}
    best = [row.name for row in facts.survivors if row.name != "none" and row.gains]
    coloured = {name: f"op-{i}" for i, name in enumerate(best[: len(COLOURS)], start=1)}
    return styles | coloured


def _chart(facts: RaceFacts, styles: Mapping[str, str]) -> Chart:
    """Draw the mean gain of each candidate up to each block, the best in front."""
    span = gain_span(facts)
    rows = [row for row in facts.candidates if row.name != "none" and row.gains]
    best = [row for row in rows if styles[row.name].startswith("op-")]
    others = [row for row in reversed(rows) if row not in best]
    last = max((row.n_blocks for row in rows), default=1)
    gains = "; ".join(f"{row.name} {signed(row.gain)}" for row in best)
    return line_chart(
        [
            Series([1, last], [0, 0], "plain dashed", "no augmentation"),
            *(_curve(row, styles[row.name], span) for row in others),
            *(_curve(row, styles[row.name], span, label=row.name) for row in best),
        ],
        title="Mean gain over no augmentation (log of the validation loss)",
        alt=f"Mean gain over no augmentation in the log of the validation loss: {gains}; "
        f"{count(len(facts.dropped), 'candidate')} dropped.",
        x_label="block; grey lines end where candidates were dropped",
        y_span=span,
        style="tall",
    )


def _curve(row: CandidateRow, style: str, span: Span, label: str = "") -> Series:
    # A line of a single point would be invisible.
    style = style if row.n_blocks > 1 else f"{style} dot"
    means = np.clip(row.running_gains, *span)
    return Series(np.arange(1, row.n_blocks + 1), means, style, label)


def _accuracy_span(facts: RaceFacts) -> Span:
    """Return the axis of the bars."""
    leading = [end for row in facts.survivors for end in _ends(_accuracy(row))]
    if facts.decision is not None:
        leading += _ends(_decided(facts.decision))
    return span_of(leading, [end for row in facts.dropped for end in _ends(_accuracy(row))])


def _line(row: CandidateRow, style: str, span: Span) -> CandidateLine:
    accuracy = _accuracy(row)
    return CandidateLine(
        name=row.name,
        policy=row.policy,
        n_blocks=row.n_blocks,
        gain=signed(row.gain) if row.gains else "",
        error=f"± {number(row.error)}" if row.error else "",
        accuracy=accuracy,
        place=_place(accuracy, span),
        style="plain" if row.is_dropped else style,
        status={"chosen": "chosen", "measured": "measured again"}.get(row.status, ""),
        reason=row.reason,
    )


def _decision(verdict: RaceVerdict, span: Span) -> Decision:
    accuracy = _decided(verdict)
    return Decision(verdict.candidate, verdict.n_blocks, accuracy, _place(accuracy, span))


def _accuracy(row: CandidateRow) -> Estimate:
    """Return the gain in accuracy; NaN for a candidate that was never trained successfully."""
    value = row.accuracy_gain if row.gains else math.nan
    return _estimate(value, row.accuracy_low, row.accuracy_high)


def _decided(verdict: RaceVerdict) -> Estimate:
    return _estimate(verdict.gain, verdict.low, verdict.high)


def _estimate(value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(value, math.nan if low is None else low, math.nan if high is None else high)


def _ends(estimate: Estimate) -> list[float]:
    """Return a gain and the ends of its interval, as far as they are known."""
    ends = (estimate.value, estimate.low, estimate.high)
    return [end for end in ends if math.isfinite(end)]


def _place(estimate: Estimate, span: Span) -> Estimate | None:
    """Return a gain with its interval, or without as a point, as fractions of an axis."""
    if not span[0] <= estimate.value <= span[1]:
        return None
    ends = (estimate.low, estimate.high) if estimate.is_bounded else (estimate.value,) * 2
    return Estimate(*(_fraction(value, span) for value in (estimate.value, *ends)))


def _fraction(value: float, span: Span) -> float:
    return min(max((value - span[0]) / (span[1] - span[0]), 0.0), 1.0)
