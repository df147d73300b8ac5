"""Charts as plain data; the template turns them into SVG that fits any width.

Lines are drawn in a box of fixed size that the page stretches; ticks and labels stand beside it as
text, which is never stretched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "HEIGHT",
    "WIDTH",
    "Chart",
    "Line",
    "Series",
    "Span",
    "Tick",
    "axis",
    "draw_line",
    "line_chart",
]

WIDTH, HEIGHT = 1200, 400
"""Size of the box that lines are drawn in."""

MAX_POINTS = 800
N_TICKS = 5

Numbers = NDArray[np.float64]
Span = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A tick of an axis."""

    at: float  # percent of the axis
    text: str

    @classmethod
    def of(cls, value: float, span: Span, text: str) -> Tick:
        """Return a mark at a value."""
        return cls(round(100 * (value - span[0]) / (span[1] - span[0]), 2), text)


@dataclass(frozen=True)
class Line:
    """A line of a chart."""

    path: str  # SVG
    style: str  # CSS classes
    label: str = ""  # empty for none in the legend


@dataclass(frozen=True, eq=False)
class Series:
    """Data of a line or of dots; NaN leaves a gap."""

    x: ArrayLike
    y: ArrayLike
    style: str
    label: str = ""
    dots: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart with two axes; `alt` describes it for those who cannot see it."""

    title: str
    alt: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    style: str = ""


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    alt: str,
    x_label: str,
    y_span: Span | None = None,
    style: str = "",
) -> Chart:
    """Draw series over a common axis, from back to front."""
    xs = [np.asarray(each.x, dtype=float) for each in series]
    ys = [np.asarray(each.y, dtype=float) for each in series]
    x_span, y_span = _span(xs), y_span or _roomy(_span(ys))
    lines = []
    for each, x, y in zip(series, xs, ys, strict=True):
        pieces = [(x[i : i + 1], y[i : i + 1]) for i in range(len(x))] if each.dots else [(x, y)]
        path = "".join(draw_line(*piece, x_span, y_span) for piece in pieces)
        lines.append(Line(path, each.style, each.label))
    return Chart(title, alt, tuple(lines), axis(x_span, whole=True), axis(y_span), x_label, style)


def draw_line(
    x: Numbers, y: Numbers, x_span: Span, y_span: Span, *, max_points: int = MAX_POINTS
) -> str:
    """Return a line as an SVG path, thinned and rounded; a single point becomes a dot."""
    keep = np.arange(0, len(x), max(1, math.ceil(len(x) / max_points)))
    if len(x) and keep[-1] != len(x) - 1:
        keep = np.append(keep, len(x) - 1)
    across = WIDTH * (x[keep] - x_span[0]) / (x_span[1] - x_span[0])
    up = HEIGHT * (1 - (y[keep] - y_span[0]) / (y_span[1] - y_span[0]))
    is_known = np.isfinite(up)
    pieces = np.split(np.arange(len(keep)), np.flatnonzero(np.diff(is_known)) + 1)
    return "".join(_piece(across[i], up[i]) for i in pieces if len(i) and is_known[i[0]])


def axis(span: Span, *, whole: bool = False) -> tuple[Tick, ...]:
    """Return ticks at round numbers."""
    low, high = span
    locator = MaxNLocator(N_TICKS, integer=whole, steps=[1, 2, 2.5, 5, 10])
    values = np.asarray(locator.tick_values(low, high), dtype=float)
    step = values[1] - values[0]
    inside = values[(values >= low - step / 100) & (values <= high + step / 100)]
    return tuple(
        Tick.of(value, span, f"{round(value, 10):g}".replace("-", "−"))
        for value in inside.tolist()
    )


def _piece(across: Numbers, up: Numbers) -> str:
    """Return a piece without gaps in relative coordinates, which are shorter."""
    places = np.stack([across, up], axis=1).round().astype(int)
    first = f"M{places[0, 0]} {places[0, 1]}"
    if len(places) == 1:
        return f"{first}h0"
    return f"{first}l{' '.join(f'{dx} {dy}' for dx, dy in np.diff(places, axis=0).tolist())}"


def _span(values: Sequence[Numbers]) -> Span:
    """Return minimum and maximum of the finite values, widened if they are equal."""
    known = (
        np.concatenate([array[np.isfinite(array)] for array in values]) if values else np.zeros(0)
    )
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _roomy(span: Span) -> Span:
    margin = 0.06 * (span[1] - span[0])
    return span[0] - margin, span[1] + margin
