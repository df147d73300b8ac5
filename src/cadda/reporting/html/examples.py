"""Charts of example windows before and after each operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.summary import describe_magnitude
from cadda.policies.spec.text import ALL_CLASSES
from cadda.reporting.charts import (
    Chart,
    Line,
    Series,
    Tick,
    axis,
    draw_line,
    line_chart,
)
from cadda.reporting.figures.operations import HIGHEST_FREQUENCY
from cadda.reporting.html.formatting import percent
from cadda.reporting.records import Examples
from cadda.signal.spectral import PICTURE_FLOOR, decibel, power_spectrum

__all__ = ["Panel", "panels_of"]

SHOWN_SECONDS = 6.0
SPACING = 7.0
"""Distance between the channels, in standard deviations."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """Charts of one operation."""

    operation: str
    summary: str  # what it does
    use: str  # how often and how strongly the policy applies it
    signal: Chart
    spectrum: Chart


def panels_of(examples: Examples, sfreq: float) -> tuple[Panel, ...]:
    """Draw signal and spectrum before and after each operation."""
    return tuple(_panel(examples, i, sfreq) for i in range(len(examples.operation)))


def _panel(examples: Examples, i: int, sfreq: float) -> Panel:
    name, class_name = str(examples.operation[i]), str(examples.class_name[i])
    before = examples.before[examples.window[i]].astype(float)
    after = examples.after[i].astype(float)
    magnitude = None if np.isnan(examples.magnitude[i]) else float(examples.magnitude[i])
    amount = describe_magnitude(name, magnitude)
    entry = CATALOGUE.get(name)
    whose = "all windows" if class_name == ALL_CLASSES else f"the windows of {class_name}"
    changed = int(np.square(after - before).sum(-1).argmax())
    channel = str(examples.ch_names[changed])
    title = f"{name}, {amount}" if amount else name
    return Panel(
        operation=name,
        summary="" if entry is None else entry.summary,
        use=f"{amount}; " * bool(amount) + f"changes {percent(examples.applied[i])} of {whose}",
        signal=_signal_chart(before, after, examples.ch_names.tolist(), sfreq, title),
        spectrum=_spectrum_chart(before[changed], after[changed], channel, sfreq, title),
    )


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
