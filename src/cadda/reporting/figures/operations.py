"""Pictures of operations: signal and spectrum, before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from torch import Tensor

from cadda._internal.random import Seeds
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.pool import OperationPool
from cadda.signal.spectral import PICTURE_FLOOR, decibel, power_spectrum

__all__ = ["N_TRIES", "most_changed_draw", "plot_operation", "plot_operations"]

BEFORE = "#8c8c8c"
AFTER = "#0b63b0"
HIGHEST_FREQUENCY = 35.0
"""Highest frequency that spectra show, in Hz."""
N_COLUMNS = 3
SPACING = 6.0
"""Distance between the channels of a plot, in standard deviations."""

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

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    figure = Figure(figsize=(9, 3), layout="constrained")
    _draw_panel(figure, operation, window, sfreq, ch_names[:3], magnitude, seed)
    figure.legend(handles=_legend(), loc="upper right", ncols=2, fontsize=8, frameon=False)
    return figure


def plot_operations(
    pool: OperationPool,
    window: Tensor,
    *,
    magnitudes: Mapping[str, float] | None = None,
    seed: int = 0,
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
        _draw_panel(panel, operation, window, pool.sfreq, pool.ch_names[:2], magnitude, seed)
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
) -> Tensor:
    """Transform a window `N_TRIES` times and return the result that differs most."""
    generator = Seeds(seed).stream(f"picture of {operation.name}")
    copies = window.expand(N_TRIES, *window.shape)
    with torch.no_grad():
        results = operation(copies, magnitude, generator=generator)
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
) -> None:
    """Draw signal and spectrum of the first channels into a figure or a part of one."""
    after = most_changed_draw(operation, window, magnitude, channels=[0], seed=seed)
    signal_axes, spectrum_axes = panel.subplots(1, 2, width_ratios=(2, 1))
    panel.suptitle(_title(operation, magnitude), fontsize=10)
    _draw_signals(signal_axes, window, after, sfreq, ch_names)
    _draw_spectra(spectrum_axes, window[0], after[0], sfreq)
    spectrum_axes.set_title(ch_names[0], fontsize=8, loc="right", y=0.85)


def _title(operation: Operation, magnitude: float) -> str:
    entry = CATALOGUE.get(operation.name)
    unit = entry.describe(magnitude) if entry else f"magnitude {magnitude:g}"
    return f"{operation.name}: {unit}" if unit else operation.name


def _draw_signals(
    axes: Axes, before: Tensor, after: Tensor, sfreq: float, ch_names: tuple[str, ...]
) -> None:
    offsets = [-SPACING * i for i in range(len(ch_names))]
    time = torch.arange(before.shape[-1]) / sfreq
    # The thinner line on top leaves the one below to be seen where they agree.
    for signals, color, width in ((before, BEFORE, 1.6), (after, AFTER, 0.6)):
        shown = signals[: len(ch_names)].T + torch.tensor(offsets)
        axes.plot(time, shown, color=color, linewidth=width)
    axes.set_yticks(offsets, ch_names)
    axes.set_xlabel("time (s)", fontsize=8)
    axes.margins(x=0)
    _tidy(axes)


def _draw_spectra(axes: Axes, before: Tensor, after: Tensor, sfreq: float) -> None:
    """Draw the power spectra of one channel in dB."""
    for signal, color in ((before, BEFORE), (after, AFTER)):
        frequency, power = power_spectrum(signal, sfreq)
        axes.plot(frequency, decibel(power, floor=PICTURE_FLOOR), color=color, linewidth=0.9)
    axes.set_xlim(0, min(HIGHEST_FREQUENCY, sfreq / 2))
    axes.set_ylim(-45, 8)
    axes.set_xlabel("frequency (Hz)", fontsize=8)
    axes.set_ylabel("power (dB)", fontsize=8)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=BEFORE, label="before"),
        Line2D([], [], color=AFTER, label="after"),
    ]
