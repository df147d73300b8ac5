"""The hypnogram of one test night: what was predicted over what the expert said."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.reporting.charts import Chart, Line, Tick, axis, draw_line
from cadda.reporting.html.formatting import count, percent
from cadda.reporting.records import DataFacts, Predictions

__all__ = ["hypnogram_of", "why_no_hypnogram"]

STAGES = ("W", "R", "N1", "N2", "N3")
"""Names of the AASM, from top to bottom."""

FEWEST_WINDOWS = 20
"""A recording with fewer shows no course of sleep."""

HOUR = 3600
FEWEST_HOURS = 2
"""From here on the axis is in hours, below in minutes."""

Span = tuple[float, float]


def hypnogram_of(predictions: Predictions, data: DataFacts) -> Chart | None:
    """Draw the longest recording among the test windows."""
    if not _is_sleep(data):
        return None
    subject, recording, night = _longest(predictions)
    if len(night) < FEWEST_WINDOWS:
        return None
    order = night[np.argsort(predictions.position[night])]
    shown = [stage for stage in STAGES if stage in data.class_names]
    height_of = np.array([-shown.index(name) for name in data.class_names], dtype=float)
    unit, step = _scale(len(order), data.seconds)
    spans = ((0.0, len(order) * step), (-len(shown) + 0.4, 0.6))
    curves = (("plain", "expert", predictions.truth), ("main", "predicted", predictions.predicted))
    lines = tuple(
        Line(_stairs(height_of[labels[order]], step, spans), f"{style} stairs", name)
        for style, name, labels in curves
    )
    agreement = np.mean(predictions.truth[order] == predictions.predicted[order])
    name = subject if recording == subject else f"{subject}, recording {recording}"
    return Chart(
        f"Hypnogram of {name}, {count(len(order), 'window')}: predicted over expert",
        f"Hypnogram of {name}: the prediction agrees with the expert in {percent(agreement)} of "
        f"{count(len(order), 'window')}.",
        lines,
        axis(spans[0]),
        tuple(Tick.of(-i, spans[1], stage) for i, stage in enumerate(shown)),
        f"time ({unit}), windows one after the other",
        "night",
    )


def why_no_hypnogram(predictions: Predictions, data: DataFacts) -> str | None:
    """Say why there is no hypnogram where one would be expected."""
    n_windows = len(_longest(predictions)[2])
    if not _is_sleep(data) or n_windows >= FEWEST_WINDOWS:
        return None
    return (
        f"The longest test recording has {count(n_windows, 'window')}; below {FEWEST_WINDOWS} "
        "there is no course of sleep to draw as a hypnogram."
    )


def _is_sleep(data: DataFacts) -> bool:
    return set(data.class_names) <= set(STAGES)


def _longest(predictions: Predictions) -> tuple[str, str, NDArray[np.int64]]:
    """Find the recording with the most windows, and which these are."""
    pairs = np.stack([predictions.subject, predictions.recording], axis=1)
    names, number, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    longest = int(counts.argmax())
    subject, recording = names[longest].tolist()
    return subject, recording, np.flatnonzero(number.reshape(-1) == longest)


def _scale(n_windows: int, seconds: float) -> tuple[str, float]:
    """Choose the unit of time, and give the length of a window in it."""
    if n_windows * seconds >= FEWEST_HOURS * HOUR:
        return "h", seconds / HOUR
    return "min", seconds / 60


def _stairs(heights: NDArray[np.float64], step: float, spans: tuple[Span, Span]) -> str:
    """Turn one height per window into stairs, with corners at changes only."""
    starts = np.flatnonzero(np.diff(heights, prepend=np.nan))
    edges = np.append(starts, len(heights)) * step
    corners = np.repeat(edges, 2)[1:-1], np.repeat(heights[starts], 2)
    return draw_line(*corners, *spans, most_points=len(corners[0]))
