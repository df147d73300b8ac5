"""Two sleep recordings beside each other, stage by stage."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from torch import Tensor

from cadda.reporting.figures.operations import HIGHEST_FREQUENCY
from cadda.signal.spectral import decibel, power_spectrum

__all__ = ["plot_sleep"]

COLOURS = ("#0b63b0", "#c4541a")


class _Recording(Protocol):
    """The part of `cadda.Windows` that the figure needs."""

    @property
    def x(self) -> Tensor:
        """Signals of shape (n_windows, n_channels, n_times)."""

    @property
    def y(self) -> Tensor:
        """Labels of shape (n_windows,)."""

    @property
    def sfreq(self) -> float:
        """Sampling rate in Hz."""

    @property
    def ch_names(self) -> tuple[str, ...]:
        """Names of the channels."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes."""


def plot_sleep(
    first: _Recording,
    second: _Recording,
    *,
    names: tuple[str, str] = ("first", "second"),
    seconds: float = 30.0,
    unit: str = "SD",
    example: int = 0,
) -> Figure:
    """Draw two recordings of the same channels: a window and the median spectra of each stage."""
    _check_alike(first, second, example)
    n_stages, n_channels = len(first.class_names), len(first.ch_names)
    figure = Figure(figsize=(15 + 2.4 * n_channels, 2.1 * n_stages), layout="constrained")
    axes = figure.subplots(
        n_stages, 2 + n_channels, squeeze=False, width_ratios=[3, 3, *[1] * n_channels]
    )
    distance = _spacing(first, second)
    for stage, row in enumerate(axes):
        for windows, colour, signal_axes in zip((first, second), COLOURS, row, strict=False):
            _draw_stage(signal_axes, row[2:], windows, stage, example, seconds, distance, colour)
        row[0].set_ylabel(f"{first.class_names[stage]}\n{distance:.3g} {unit} between channels")
    for column, name in enumerate(names):
        axes[0, column].set_title(name, color=COLOURS[column])
    for channel, spectrum_axes in zip(first.ch_names, axes[0, 2:], strict=True):
        spectrum_axes.set_title(f"{channel}: power (dB {unit}²/Hz)", fontsize=9)
    for bottom in axes[-1]:
        bottom.set_xlabel("time (s)" if bottom in axes[-1, :2] else "frequency (Hz)")
    handles = [Line2D([], [], color=c, label=n) for c, n in zip(COLOURS, names, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _check_alike(first: _Recording, second: _Recording, example: int) -> None:
    for what in ("class_names", "ch_names"):
        mine, other = getattr(first, what), getattr(second, what)
        if tuple(mine) != tuple(other):
            raise ValueError(
                f"`second` must have the same `{what}` as `first`, {list(mine)}, "
                f"got {list(other)}."
            )
    if example < 0:
        raise ValueError(f"`example` must be 0 or more, got {example}.")


def _draw_stage(
    signal_axes: Axes,
    spectrum_axes: NDArray[np.object_],
    windows: _Recording,
    stage: int,
    example: int,
    seconds: float,
    distance: float,
    colour: str,
) -> None:
    """Draw one window and the spectra of one stage of one recording."""
    chosen = windows.x[windows.y == stage].numpy()
    _tidy(signal_axes)
    for axes in spectrum_axes:
        _tidy(axes)
    if not len(chosen):
        signal_axes.set_axis_off()
        return
    frequency, power = power_spectrum(chosen, windows.sfreq)
    power = decibel(power)
    _draw_signals(
        signal_axes, chosen[_typical(power, example)], windows, seconds, distance, colour
    )
    shown = frequency <= HIGHEST_FREQUENCY
    for axes, by_window in zip(spectrum_axes, power.swapaxes(0, 1), strict=True):
        low, middle, high = np.percentile(by_window, (25, 50, 75), axis=0)
        axes.plot(frequency[shown], middle[shown], color=colour, linewidth=1)
        axes.fill_between(frequency[shown], low[shown], high[shown], color=colour, alpha=0.15)
        axes.margins(x=0)


def _draw_signals(
    axes: Axes,
    window: NDArray[np.float32],
    windows: _Recording,
    seconds: float,
    distance: float,
    colour: str,
) -> None:
    shown = window[:, : round(seconds * windows.sfreq)]
    offsets = -distance * np.arange(len(shown))
    time = np.arange(shown.shape[1]) / windows.sfreq
    axes.plot(time, shown.T + offsets, color=colour, linewidth=0.6)
    axes.set_ylim(offsets[-1] - 0.75 * distance, 0.75 * distance)
    axes.set_yticks(offsets, windows.ch_names)
    axes.margins(x=0)


def _typical(power: NDArray[np.float64], rank: int) -> int:
    """Find the window whose spectra are nearest to the medians, or one of the next."""
    distance = np.square(power - np.median(power, axis=0)).mean(axis=(1, 2))
    return int(np.argsort(distance)[min(rank, len(distance) - 1)])


def _spacing(first: _Recording, second: _Recording) -> float:
    """Choose a distance between the channels that suits both recordings."""
    spread = [float(np.median(windows.x.numpy().std(axis=-1))) for windows in (first, second)]
    return 8 * max(spread)


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
