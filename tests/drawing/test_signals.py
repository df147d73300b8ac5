"""Pictures of windows: the typical one, and the spectra of the classes."""

from __future__ import annotations

import mne
import numpy as np
import pytest

from cadda import Windows
from cadda.drawing.signals import HIGHEST_FREQUENCY, MAX_WINDOWS, typical_window
from cadda.exceptions import DataError

SFREQ = 100.0


@pytest.fixture
def windows() -> Windows:
    """Return sines of 10 Hz (slow) and 25 Hz (fast) in noise; there is no window of a class."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    time = np.arange(200) / SFREQ
    signal = np.sin(2 * np.pi * np.where(y == 0, 10.0, 25.0)[:, None, None] * time)
    return Windows(
        signal + 0.1 * rng.standard_normal((40, 3, 200)), y, subject=np.arange(40) // 10,
        sfreq=SFREQ, ch_names=["C3", "Cz", "C4"], class_names=["slow", "fast", "absent"],
    )  # fmt: skip


def test_spectra_peak_where_the_signals_do(windows: Windows) -> None:
    figure = windows.plot()
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    assert list(panels) == ["C3", "Cz", "C4"]
    for axes in panels.values():
        peaks = [line.get_xdata()[np.argmax(line.get_ydata())] for line in axes.lines]
        assert peaks == pytest.approx([10, 25], abs=1)


def test_the_axis_of_power_ends_where_the_spectra_do(windows: Windows) -> None:
    """Above the highest frequency that is shown, there is hardly any power."""
    low = mne.filter.filter_data(windows.x.numpy().astype(float), SFREQ, None, 30, verbose="error")
    filtered = Windows(
        low, windows.y, subject=windows.subject, sfreq=SFREQ, ch_names=windows.ch_names
    )
    for axes in filtered.plot().axes:
        if axes.get_title():
            values = np.stack([line.get_ydata() for line in axes.lines])
            shown = values[:, axes.lines[0].get_xdata() <= HIGHEST_FREQUENCY]
            bottom, top = axes.get_ylim()
            assert values.min() < bottom - 10
            assert bottom < shown.min() < bottom + 0.1 * (top - bottom)
            assert top - 0.1 * (top - bottom) < shown.max() < top


def test_a_window_of_each_class_is_drawn(windows: Windows) -> None:
    rows = {axes.get_ylabel(): axes for axes in windows.plot().axes if axes.get_ylabel()}
    assert [len(axes.lines) for axes in rows.values()] == [3, 3, 0]
    drawn = np.stack([line.get_ydata() for line in rows["fast"].lines])
    candidates = windows.x[windows.y == 1].numpy()
    centred = drawn - np.round(drawn[:, :1] - candidates[:, :, :1], 6)
    assert np.isclose(centred, candidates, atol=1e-4).all((1, 2)).sum() == 1


def test_channels_by_name_in_the_given_order(windows: Windows) -> None:
    titles = [axes.get_title() for axes in windows.plot(["C4", "C3"]).axes if axes.get_title()]
    assert titles == ["C4", "C3"]
    with pytest.raises(DataError, match="the data has no 'Oz'"):
        windows.plot(["Oz"])


def test_many_windows_of_many_channels() -> None:
    rng = np.random.default_rng(0)
    n = 2 * MAX_WINDOWS + 1
    many = Windows(
        rng.standard_normal((n, 9, 64)), np.arange(n) % 2, subject=np.zeros(n), sfreq=64,
        ch_names=[f"E{i}" for i in range(9)], class_names=["a", "b"],
    )  # fmt: skip
    titles = [axes.get_title() for axes in many.plot().axes if axes.get_title()]
    assert titles == [f"E{i}" for i in range(6)]


def test_typical_window_is_nearest_to_the_median() -> None:
    power = np.zeros((5, 2, 4)) + np.array([5.0, 1.0, 0.0, -2.0, -9.0])[:, None, None]
    assert [typical_window(power, rank) for rank in range(6)] == [2, 1, 3, 0, 4, 4]
