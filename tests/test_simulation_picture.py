"""The page on simulated data shows what was measured, and its picture what it says."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cadda import simulate_motor_imagery

ROOT = Path(__file__).parents[1]
BENCHMARKS = [f"benchmarks.{path.stem}" for path in (ROOT / "benchmarks").glob("*.py")]


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT)
    yield importlib.import_module("simulation_picture")
    for name in ("simulation_picture", "pictures", *BENCHMARKS):
        sys.modules.pop(name, None)


def test_page_has_the_results_of_the_benchmark(picture: ModuleType) -> None:
    page = (ROOT / "docs" / "simulated-data.md").read_text(encoding="utf-8").splitlines()
    rows = list(picture.network_rows())
    assert len(rows) == 6
    assert set(rows) <= set(page)


def test_picture_shows_differences_between_classes(picture: ModuleType) -> None:
    windows = simulate_motor_imagery(3, 6)
    axes = np.reshape(picture.plot_imagery({"a": windows, "b": windows}).get_axes(), (2, 4))
    left, right = (line.get_ydata() for line in axes[0, 0].get_lines())
    contrast = axes[0, 2].get_lines()[1].get_ydata()
    np.testing.assert_allclose(contrast, left - right, atol=1e-4)
    x, is_left = windows.x[:, 0].numpy(), (windows.y == 0).numpy()
    # Every subject has as many windows of either class.
    expected = x[is_left].mean(axis=0) - x[~is_left].mean(axis=0)
    np.testing.assert_allclose(axes[1, 3].get_lines()[1].get_ydata(), expected, atol=1e-6)


def test_linear_classifiers_find_what_is_there(picture: ModuleType) -> None:
    windows = simulate_motor_imagery(10, 10)
    windows.x[windows.y == 0, :, 50:90] += 10.0
    assert picture.linear_accuracy(windows, picture.slow_waves, 1e-3) > 0.9
    assert picture.slow_waves(windows).shape == (100, 8 * 40)
    assert picture.band_powers(windows).shape == (100, 8 * 3)
