"""Signals and spectra of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from torch import Tensor

from cadda._internal.validation import check_sfreq
from cadda.drawing.figure import Figure
from cadda.drawing.panels import COLOURS, DASHES, remove_frame
from cadda.signal.spectral import decibel, power_spectrum

__all__ = [
    "HIGHEST_FREQUENCY",
    "LabelledWindows",
    "draw_signals",
    "plot_windows",
    "typical_spread",
    "typical_window",
]

HIGHEST_FREQUENCY = 35.0
"""Highest frequency that spectra show, in Hz."""
SPACING = 8.0
"""Distance between channels, in standard deviations."""
MAX_WINDOWS = 200
"""Windows of a class that spectra are computed from; the median of more looks the same."""
N_COLUMNS = 2
"""Columns of spectra."""


class LabelledWindows(Protocol):
    """The part of `cadda.Windows` that a figure needs."""

    @property
    def x(self) -> Tensor: ...

    @property
    def y(self) -> Tensor: ...

    @property
    def sfreq(self) -> float | None: ...

    @property
    def ch_names(self) -> tuple[str, ...]: ...

    @property
    def class_names(self) -> tuple[str, ...]: ...


def plot_windows(windows: LabelledWindows, channels: Sequence[int]) -> Figure:
    """Draw a typical window of each class, and the median spectra of the classes by channel."""
    sfreq = check_sfreq(windows.sfreq, "a picture of windows")
    n_classes, n_rows = len(windows.class_names), math.ceil(len(channels) / N_COLUMNS)
    height = max((0.5 + 0.3 * len(channels)) * n_classes, 1.9 * n_rows)
    figure = Figure(figsize=(12, 1.2 + height), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(3, 2))[0]
    signals = left.subplots(n_classes, 1, sharex=True, squeeze=False).ravel()
    spectra = right.subplots(n_rows, N_COLUMNS, sharex=True, squeeze=False).ravel()
    names = [windows.ch_names[i] for i in channels]
    by_class = [_some_windows(windows, label)[:, list(channels)] for label in range(n_classes)]
    distance = SPACING * typical_spread(np.concatenate(by_class))
    for label, (axes, chosen) in enumerate(zip(signals, by_class, strict=True)):
        colour, dashes = COLOURS[label % len(COLOURS)], DASHES[label % len(DASHES)]
        axes.set_ylabel(windows.class_names[label], color=colour)
        axes.set_yticks([])
        if not len(chosen):
            continue
        frequency, density = power_spectrum(chosen, sfreq)
        power = decibel(density)
        window = chosen[typical_window(power)]
        draw_signals(axes, window, sfreq, names, distance, color=colour, linewidth=0.6)
        for panel, middle in zip(spectra, np.median(power, axis=0), strict=False):
            panel.plot(frequency, middle, color=colour, linestyle=dashes, linewidth=1)
    for axes in (*signals, *spectra):
        remove_frame(axes)
    _label_panels(spectra, names, min(HIGHEST_FREQUENCY, sfreq / 2))
    signals[-1].set_xlabel("time (s)", fontsize=8)
    right.supxlabel("frequency (Hz)", fontsize=8)
    left.suptitle("Typical window of each class", fontsize=10)
    right.suptitle("Median power of each class (dB)", fontsize=10)
    return figure


def _label_panels(spectra: Sequence[Axes], names: Sequence[str], highest: float) -> None:
    """Write channels above their spectra; hide the panels that are left."""
    for panel, name in zip(spectra, names, strict=False):
        panel.set_title(name, fontsize=9)
        panel.set_xlim(0, highest)
        _fit_to_visible(panel, highest)
        panel.tick_params(labelbottom=True)
    for panel in spectra[len(names) :]:
        panel.set_axis_off()


def _fit_to_visible(panel: Axes, highest: float) -> None:
    """Limit the y axis to the parts of the lines up to the highest frequency."""
    visible = [
        np.asarray(line.get_ydata())[np.asarray(line.get_xdata()) <= highest]
        for line in panel.lines
    ]
    if visible:
        values = np.concatenate(visible)
        margin = max(0.05 * float(np.ptp(values)), 0.5)
        panel.set_ylim(values.min() - margin, values.max() + margin)


def draw_signals(
    axes: Axes,
    signals: NDArray[np.float32],
    sfreq: float,
    ch_names: Sequence[str],
    spacing: float,
    *,
    color: str,
    linewidth: float,
) -> None:
    """Draw signals of shape (n_channels, n_times) below each other."""
    offsets = -spacing * np.arange(len(ch_names))
    time = np.arange(signals.shape[1]) / sfreq
    axes.plot(time, signals.T + offsets, color=color, linewidth=linewidth)
    axes.set_yticks(offsets, ch_names)
    axes.margins(x=0)


def typical_window(power: NDArray[np.float64], rank: int = 0) -> int:
    """Find the window whose spectra are nearest to the medians, or one of the next."""
    distance = np.square(power - np.median(power, axis=0)).mean(axis=(1, 2))
    return int(np.argsort(distance)[min(rank, len(distance) - 1)])


def typical_spread(x: NDArray[np.float32]) -> float:
    """Return the median standard deviation of a channel of a window."""
    return float(np.median(x.std(axis=-1)))


def _some_windows(windows: LabelledWindows, label: int) -> NDArray[np.float32]:
    """Return at most `MAX_WINDOWS` windows of a class, evenly spaced."""
    places = np.flatnonzero(windows.y.numpy() == label)
    step = max(1, math.ceil(len(places) / MAX_WINDOWS))
    chosen: NDArray[np.float32] = windows.x.numpy()[places[::step]]
    return chosen
