"""Signals and spectra: before and after an operation, and of two recordings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from torch import Tensor

from cadda._internal.random import Seeds
from cadda._internal.validation import check_sfreq
from cadda.drawing.figure import Figure
from cadda.drawing.panels import remove_frame
from cadda.drawing.signals import (
    HIGHEST_FREQUENCY,
    SPACING,
    LabelledWindows,
    draw_signals,
    typical_spread,
    typical_window,
)
from cadda.operations.base import Batch, Operation
from cadda.operations.pool import OperationPool
from cadda.policies.spec.summary import operation_info
from cadda.signal.spectral import PICTURE_FLOOR, decibel, power_spectrum

__all__ = [
    "N_TRIES",
    "most_changed_draw",
    "plot_operation",
    "plot_operations",
    "plot_sleep",
]

BEFORE = "#8c8c8c"
AFTER = "#0b63b0"
TWO_COLOURS = ("#0b63b0", "#c4541a")
"""Of the two recordings."""
N_COLUMNS = 3
CLOSE = 6.0
"""Distance between the few channels of a small panel, in standard deviations."""

N_TRIES = 12
"""Number of draws, of which the most visible is shown."""


def plot_operation(
    operation: Operation,
    window: Tensor,
    *,
    sfreq: float,
    ch_names: tuple[str, ...],
    magnitude: float = 1.0,
    seed: int = 0,
    others: Tensor | None = None,
) -> Figure:
    """Draw one operation on one window: signal and spectrum, before and after.

    Parameters
    ----------
    operation : Operation
        The operation.
    window : Tensor
        One window of shape (n_channels, n_times).
    sfreq : float
        Sampling rate in Hz.
    ch_names : tuple of str
        Names of the channels; the first three are drawn.
    magnitude : float
        Strength in [0, 1].
    seed : int
        Decides the random draw.
    others : Tensor | None
        Windows of the same class, (n_windows, n_channels, n_times), for an operation that takes
        something from them.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    figure = Figure(figsize=(9, 3), layout="constrained")
    _draw_panel(figure, operation, window, sfreq, ch_names[:3], magnitude, seed, others)
    figure.legend(handles=_legend(), loc="upper right", ncols=2, fontsize=8, frameon=False)
    return figure


def plot_operations(
    pool: OperationPool,
    window: Tensor,
    *,
    magnitudes: Mapping[str, float] | None = None,
    seed: int = 0,
    others: Tensor | None = None,
) -> Figure:
    """Draw every operation of a pool on one window, as a contact sheet.

    Parameters
    ----------
    pool : OperationPool
        The operations; the pool must know sampling rate and channels.
    window : Tensor
        One window of shape (n_channels, n_times).
    magnitudes : mapping of str to float | None
        Strength by operation; 1 where none is given.
    seed : int
        Decides the random draws.
    others : Tensor | None
        Windows of the same class, (n_windows, n_channels, n_times), for operations that take
        something from them.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    if pool.sfreq is None:
        raise ValueError("`pool` must know its sampling rate; make it with `operation_pool`.")
    strength = dict(magnitudes or {})
    n_rows = math.ceil(len(pool) / N_COLUMNS)
    figure = Figure(figsize=(6.2 * N_COLUMNS, 2.5 * n_rows), layout="constrained")
    panels = figure.subfigures(n_rows, N_COLUMNS, squeeze=False).ravel()
    for operation, panel in zip(pool, panels, strict=False):
        magnitude = strength.get(operation.name, 1.0)
        _draw_panel(
            panel, operation, window, pool.sfreq, pool.ch_names[:2], magnitude, seed, others
        )
    figure.legend(
        handles=_legend(), loc="outside lower right", ncols=2, fontsize=12, frameon=False
    )
    return figure


def most_changed_draw(
    operation: Operation,
    window: Tensor,
    magnitude: float | None,
    *,
    channels: Sequence[int],
    seed: int,
    others: Tensor | None = None,
) -> Tensor:
    """Transform a window `N_TRIES` times and return the result that differs most.

    ``others`` are windows of the same class, for an operation that takes something from them.
    """
    generator = Seeds(seed).stream(f"picture of {operation.name}")
    copies = window.expand(N_TRIES, *window.shape)
    if operation.needs_labels:
        x = window[None] if others is None else torch.cat([window[None], others])
        same = torch.zeros(len(x), dtype=torch.long)
        first = torch.zeros(N_TRIES, dtype=torch.long)
        draw = operation.sample_group(Batch(x, same, same), first, generator)
    else:
        draw = operation.draw(copies, generator=generator)
    with torch.no_grad():
        results = operation.transform(copies, magnitude, draw)
    change = (results - copies)[:, list(channels)].square().sum((1, 2))
    return results[int(change.argmax())]


def _draw_panel(
    panel: Figure | SubFigure,
    operation: Operation,
    window: Tensor,
    sfreq: float,
    ch_names: tuple[str, ...],
    magnitude: float,
    seed: int,
    others: Tensor | None,
) -> None:
    """Draw signal and spectrum of the first channels into a figure or a part of one."""
    after = most_changed_draw(operation, window, magnitude, channels=[0], seed=seed, others=others)
    signal_axes, spectrum_axes = panel.subplots(1, 2, width_ratios=(2, 1))
    panel.suptitle(_title(operation, magnitude), fontsize=10)
    # The thinner line on top leaves the one below to be seen where they agree.
    for signals, color, width in ((window, BEFORE, 1.6), (after, AFTER, 0.6)):
        shown = signals[: len(ch_names)].numpy()
        draw_signals(signal_axes, shown, sfreq, ch_names, CLOSE, color=color, linewidth=width)
    signal_axes.set_xlabel("time (s)", fontsize=8)
    remove_frame(signal_axes)
    _draw_spectra(spectrum_axes, window[0], after[0], sfreq)
    spectrum_axes.set_title(ch_names[0], fontsize=8, loc="right", y=0.85)


def _title(operation: Operation, magnitude: float) -> str:
    entry = operation_info(operation.name, operation.settings)
    unit = entry.describe(magnitude) if entry else f"magnitude {magnitude:g}"
    return f"{operation.name}: {unit}" if unit else operation.name


def _draw_spectra(axes: Axes, before: Tensor, after: Tensor, sfreq: float) -> None:
    """Draw the power spectra of one channel in dB."""
    for signal, color in ((before, BEFORE), (after, AFTER)):
        frequency, power = power_spectrum(signal, sfreq)
        axes.plot(frequency, decibel(power, floor=PICTURE_FLOOR), color=color, linewidth=0.9)
    axes.set_xlim(0, min(HIGHEST_FREQUENCY, sfreq / 2))
    axes.set_ylim(-45, 8)
    axes.set_xlabel("frequency (Hz)", fontsize=8)
    axes.set_ylabel("power (dB)", fontsize=8)
    remove_frame(axes)


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=BEFORE, label="before"),
        Line2D([], [], color=AFTER, label="after"),
    ]


def plot_sleep(
    first: LabelledWindows,
    second: LabelledWindows,
    *,
    names: tuple[str, str] = ("first", "second"),
    seconds: float = 30.0,
    unit: str = "SD",
    example: int = 0,
) -> Figure:
    """Draw two recordings of the same channels: a window and the median spectra of each stage.

    The first ``seconds`` of a window are drawn, whose values are in ``unit``: ``example`` 0 is the
    window whose spectrum is most like the median of its stage, 1 the next, and so on.
    """
    _check_alike(first, second, example)
    n_stages, n_channels = len(first.class_names), len(first.ch_names)
    figure = Figure(figsize=(15 + 2.4 * n_channels, 2.1 * n_stages), layout="constrained")
    axes = figure.subplots(
        n_stages, 2 + n_channels, squeeze=False, width_ratios=[3, 3, *[1] * n_channels]
    )
    distance = _spacing(first, second)
    for stage, row in enumerate(axes):
        for windows, colour, signal_axes in zip((first, second), TWO_COLOURS, row, strict=False):
            _draw_stage(signal_axes, row[2:], windows, stage, example, seconds, distance, colour)
        row[0].set_ylabel(f"{first.class_names[stage]}\n{distance:.3g} {unit} between channels")
    for column, name in enumerate(names):
        axes[0, column].set_title(name, color=TWO_COLOURS[column])
    for channel, spectrum_axes in zip(first.ch_names, axes[0, 2:], strict=True):
        spectrum_axes.set_title(f"{channel}: power (dB {unit}²/Hz)", fontsize=9)
    for bottom in axes[-1]:
        bottom.set_xlabel("time (s)" if bottom in axes[-1, :2] else "frequency (Hz)")
    handles = [Line2D([], [], color=c, label=n) for c, n in zip(TWO_COLOURS, names, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _check_alike(first: LabelledWindows, second: LabelledWindows, example: int) -> None:
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
    windows: LabelledWindows,
    stage: int,
    example: int,
    seconds: float,
    distance: float,
    colour: str,
) -> None:
    """Draw one window and the spectra of one stage of one recording."""
    chosen = windows.x[windows.y == stage].numpy()
    remove_frame(signal_axes)
    for axes in spectrum_axes:
        remove_frame(axes)
    if not len(chosen):
        signal_axes.set_axis_off()
        return
    sfreq, names = check_sfreq(windows.sfreq, "a picture of windows"), windows.ch_names
    frequency, density = power_spectrum(chosen, sfreq)
    power = decibel(density)
    window = chosen[typical_window(power, example)][:, : round(seconds * sfreq)]
    draw_signals(signal_axes, window, sfreq, names, distance, color=colour, linewidth=0.6)
    signal_axes.set_ylim(-distance * (len(window) - 0.25), 0.75 * distance)
    shown = frequency <= HIGHEST_FREQUENCY
    for axes, by_window in zip(spectrum_axes, power.swapaxes(0, 1), strict=True):
        low, middle, high = np.percentile(by_window, (25, 50, 75), axis=0)
        axes.plot(frequency[shown], middle[shown], color=colour, linewidth=1)
        axes.fill_between(frequency[shown], low[shown], high[shown], color=colour, alpha=0.15)
        axes.margins(x=0)


def _spacing(first: LabelledWindows, second: LabelledWindows) -> float:
    """Choose a distance between the channels that suits both recordings."""
    return SPACING * max(typical_spread(windows.x.numpy()) for windows in (first, second))
