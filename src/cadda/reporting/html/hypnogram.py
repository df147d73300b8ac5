"""Hypnogram of a test recording: predicted and scored stages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.reporting.charts import Chart, Line, Tick, axis, draw_line
from cadda.reporting.html.formatting import count, percent
from cadda.reporting.records import DataFacts, Predictions

__all__ = ["hypnogram_of", "why_no_hypnogram"]

STAGES = ("W", "R", "N1", "N2", "N3")
"""Stages of the AASM, from top to bottom."""

MIN_WINDOWS = 20
"""A hypnogram needs a recording with at least this number of windows."""

HOUR = 3600
MIN_HOURS = 2
"""Shorter recordings have an axis in minutes."""

Span = tuple[float, float]


def hypnogram_of(predictions: Predictions, data: DataFacts) -> Chart | None:
    """Draw the longest test recording; None if it is too short or has no sleep stages."""
    if not _is_sleep(data):
        return None
    subject, recording, night = _longest(predictions)
    if len(night) < MIN_WINDOWS:
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
        f"time ({unit})",
        "night",
    )


def why_no_hypnogram(predictions: Predictions, data: DataFacts) -> str | None:
    """Return why there is no hypnogram of sleep stages; None if there is one."""
    n_windows = len(_longest(predictions)[2])
    if not _is_sleep(data) or n_windows >= MIN_WINDOWS:
        return None
    return (
        f"No hypnogram: the longest test recording has {count(n_windows, 'window')}, fewer than "
        f"{MIN_WINDOWS}."
    )


def _is_sleep(data: DataFacts) -> bool:
    return set(data.class_names) <= set(STAGES)


def _longest(predictions: Predictions) -> tuple[str, str, NDArray[np.int64]]:
    """Return subject, recording and windows of the recording with the most windows."""
    pairs = np.stack([predictions.subject, predictions.recording], axis=1)
    names, number, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    longest = int(counts.argmax())
    subject, recording = names[longest].tolist()
    return subject, recording, np.flatnonzero(number.reshape(-1) == longest)


def _scale(n_windows: int, seconds: float) -> tuple[str, float]:
    """Return the unit of time, and the length of a window in it."""
    if n_windows * seconds >= MIN_HOURS * HOUR:
        return "h", seconds / HOUR
    return "min", seconds / 60


def _stairs(heights: NDArray[np.float64], step: float, spans: tuple[Span, Span]) -> str:
    """Return a step curve of a height per window, with corners at changes only."""
    starts = np.flatnonzero(np.diff(heights, prepend=np.nan))
    edges = np.append(starts, len(heights)) * step
    corners = np.repeat(edges, 2)[1:-1], np.repeat(heights[starts], 2)
    return draw_line(*corners, *spans, max_points=len(corners[0]))
