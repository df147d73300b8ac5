"""The tables of docs/scaling.md are those of the kept results."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT)
    before = set(sys.modules)
    yield importlib.import_module("scaling_picture")
    for name in set(sys.modules) - before:
        if name.startswith("benchmarks") or name in ("scaling_picture", "pictures", "table_cells"):
            sys.modules.pop(name)


def test_the_page_is_up_to_date(picture: ModuleType) -> None:
    text = picture.PAGE.read_text(encoding="utf-8")
    assert picture.updated(text) == text, "run `make readme`"


def test_every_measure_is_drawn(picture: ModuleType) -> None:
    step = {"seconds": 2.0, "n_windows": 1000, "megabytes": 100.0}
    steps = dict.fromkeys(("mne", "read", "cached", "train", "search"), step)
    records = [{"nights": n, "steps": steps, "load_before": 0.0} for n in (5, 20)]
    figure = picture.plot_scaling(records)
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2, 2, 4]
    assert "| 5 | 1,000 | 150 | 150 | 2.00 |" in picture.nights_table(records)
