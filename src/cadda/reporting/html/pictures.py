"""Charts of the report: progress of the search, learning curves, examples and the hypnogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.drawing.signals import HIGHEST_FREQUENCY
from cadda.operations.base import Settings
from cadda.operations.label_maps import plain_name
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.summary import describe_magnitude, operation_info
from cadda.reporting.charts import Chart, Line, Series, Span, Tick, axis, draw_line, line_chart
from cadda.reporting.html.formatting import HOUR, MINUTE, count, number, percent
from cadda.reporting.records import DataFacts, Examples, LearningCurve, Predictions, SearchCurves
from cadda.signal.spectral import PICTURE_FLOOR, decibel, power_spectrum

__all__ = [
    "Panel",
    "hypnogram_of",
    "learning_chart",
    "panels_of",
    "progress_charts",
    "why_no_hypnogram",
]

SHOWN_SECONDS = 6.0
SPACING = 7.0
"""Distance between the channels, in standard deviations."""
STAGES = ("W", "R", "N1", "N2", "N3")
"""Stages of the AASM, from top to bottom."""
MIN_WINDOWS = 20
"""A hypnogram needs a recording with at least this number of windows."""
MIN_HOURS = 2
"""Shorter recordings have an axis in minutes."""

Numbers = NDArray[np.float64]


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
    return loss, entropy, *_stability_chart(curves)


def _stability_chart(curves: SearchCurves) -> tuple[Chart, ...]:
    """Draw how much the policy moves, if that is known."""
    if curves.shared is None or not np.isfinite(curves.shared).any():
        return ()
    known = np.isfinite(curves.shared)
    first, last = curves.shared[known][[0, -1]]
    return (
        line_chart(
            [Series(curves.number[known], 100 * curves.shared[known], "main")],
            title="Windows treated as a third of the search ago (%)",
            alt=f"The share of windows that are treated as a third of the search ago changes from "
            f"{percent(first)} to {percent(last)}.",
            x_label="epoch of the search",
            y_span=(0.0, 100.0),
        ),
    )


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


@dataclass(frozen=True)
class Panel:
    """Charts of one operation."""

    operation: str
    summary: str  # what it does
    use: str  # how often and how strongly the policy applies it
    signal: Chart
    spectrum: Chart


def panels_of(
    examples: Examples, sfreq: float, settings: Mapping[str, Settings] | None = None
) -> tuple[Panel, ...]:
    """Draw signal and spectrum before and after each operation.

    ``settings`` are the ``operations`` of the policy, None for the default ones.
    """
    known = settings or {}
    names = map(str, examples.operation)
    return tuple(
        _panel(examples, i, sfreq, known.get(plain_name(name))) for i, name in enumerate(names)
    )


def _panel(examples: Examples, i: int, sfreq: float, settings: Settings | None) -> Panel:
    name = str(examples.operation[i])
    before = examples.before[examples.window[i]].astype(float)
    after = examples.after[i].astype(float)
    amount = describe_magnitude(name, _magnitudes(examples, i), settings)
    entry = operation_info(name, settings)
    changed = int(np.square(after - before).sum(-1).argmax())
    channel = str(examples.ch_names[changed])
    title = f"{name}, {amount}" if amount else name
    return Panel(
        operation=name,
        summary="" if entry is None else entry.summary,
        use=f"{amount}; " * bool(amount) + _describe_use(examples, i),
        signal=_signal_chart(before, after, examples.ch_names.tolist(), sfreq, title),
        spectrum=_spectrum_chart(before[changed], after[changed], channel, sfreq, title),
    )


def _magnitudes(examples: Examples, i: int) -> tuple[float, float] | None:
    """Return the smallest and largest magnitude; None for an operation without magnitude."""
    least = examples.magnitude if examples.min_magnitude is None else examples.min_magnitude
    ends = float(least[i]), float(examples.magnitude[i])
    return None if np.isnan(ends[1]) else ends


def _describe_use(examples: Examples, i: int) -> str:
    class_name, has_map = str(examples.class_name[i]), " " in str(examples.operation[i])
    whose = f"the windows of {class_name}"
    if class_name == ALL_CLASSES:
        whose = "the windows of classes that it names" if has_map else "all windows"
    use = f"changes {percent(examples.applied[i])} of {whose}"
    if not has_map or examples.class_before is None or examples.class_after is None:
        return use
    old, new = examples.class_before[i], examples.class_after[i]
    after = "keeps its class" if new == old else f"becomes {new}"
    return f"{use}; shown is a window of {old}, which {after}"


def _signal_chart(
    before: Numbers, after: Numbers, ch_names: list[str], sfreq: float, title: str
) -> Chart:
    """Draw the seconds that change most."""
    part = _most_changed(before, after, round(SHOWN_SECONDS * sfreq))
    time = np.arange(before.shape[1])[part] / sfreq
    places = -SPACING * np.arange(len(ch_names))
    shown = np.stack([before, after])[..., part] + places[:, None]
    low, high = places[-1] - 0.7 * SPACING, 0.7 * SPACING
    x_span, y_span = (time[0], time[-1]), (min(low, shown.min()), max(high, shown.max()))
    lines = [
        Line(draw_line(time, signal[part] + place, x_span, y_span), style)
        for signals, style in ((before, "before"), (after, "after"))
        for signal, place in zip(signals, places, strict=True)
    ]
    change = float(np.sqrt(np.square(after - before).mean()))
    return Chart(
        "Signal",
        f"Signal of {', '.join(ch_names)} from {time[0]:.1f} to {time[-1]:.1f} s, before and "
        f"after {title}: changed by {change:.2f} standard deviations.",
        tuple(lines),
        axis(x_span),
        tuple(
            Tick.of(place, y_span, name)
            for place, name in zip(places.tolist(), ch_names, strict=True)
        ),
        "time (s)",
        "signal",
    )


def _spectrum_chart(
    before: Numbers, after: Numbers, channel: str, sfreq: float, title: str
) -> Chart:
    frequency, power = power_spectrum(np.stack([before, after]), sfreq)
    shown = frequency <= HIGHEST_FREQUENCY
    frequency, (first, second) = frequency[shown], decibel(power[:, shown], floor=PICTURE_FLOOR)
    change = second - first
    most = int(np.abs(change).argmax())
    return line_chart(
        [Series(frequency, first, "before"), Series(frequency, second, "after")],
        title=f"Power of {channel} (dB)",
        alt=f"Spectrum of {channel} before and after {title}: the largest change is "
        f"{change[most]:+.0f} dB at {frequency[most]:.1f} Hz, the mean {change.mean():+.1f} dB.",
        x_label="frequency (Hz)",
        style="spectrum",
    )


def _most_changed(before: Numbers, after: Numbers, length: int) -> slice:
    """Return the segment that changes most; the first if all are equal."""
    n_times = before.shape[1]
    if n_times <= length:
        return slice(0, n_times)
    total = np.concatenate([[0.0], np.square(after - before).sum(0).cumsum()])
    starts = np.arange(0, n_times - length + 1, max(1, length // 6))
    best = int(starts[np.argmax(total[starts + length] - total[starts])])
    return slice(best, best + length)


def hypnogram_of(predictions: Predictions, data: DataFacts) -> Chart | None:
    """Draw the longest test recording; None if it is too short or has no sleep stages."""
    if not _is_sleep(data) or data.seconds is None:
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
    return "min", seconds / MINUTE


def _stairs(heights: Numbers, step: float, spans: tuple[Span, Span]) -> str:
    """Return a step curve of a height per window, with corners at changes only."""
    starts = np.flatnonzero(np.diff(heights, prepend=np.nan))
    edges = np.append(starts, len(heights)) * step
    corners = np.repeat(edges, 2)[1:-1], np.repeat(heights[starts], 2)
    return draw_line(*corners, *spans, max_points=len(corners[0]))
