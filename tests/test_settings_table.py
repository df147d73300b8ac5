"""The page on settings lists those that the search methods have, with their defaults."""

from __future__ import annotations

import importlib
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from cadda.cli.parsing import parse_settings
from cadda.searchers.registry import METHODS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "settings.md"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT)
    before = set(sys.modules)
    yield importlib.import_module("settings_table")
    for name in set(sys.modules) - before:
        if "." not in name and (ROOT / "docs" / f"{name}.py").exists():
            sys.modules.pop(name)


def settings_on_the_page(column: str) -> dict[str, dict[str, object]]:
    """Return a column of the table by method and setting, read as the command line does it."""
    head, _, *rows = PAGE.read_text(encoding="utf-8").split("## Settings")[1].split("\n|")[1:]
    index = [cell.strip() for cell in head.split("|")].index(column)
    values: dict[str, dict[str, object]] = defaultdict(dict)
    for row in rows:
        cells = [cell.strip() for cell in row.split("|")]
        name, value = cells[0].strip("`"), cells[index].strip("`")
        for method in re.findall(r"`(\w+)`", cells[1]):
            assert name not in values[method], f"{method} has {name} twice"
            values[method][name] = parse_settings([f"{name}={value}"])[name] if value else ""
    return values


def test_the_page_is_up_to_date(table: ModuleType) -> None:
    assert table.page() == PAGE.read_text(encoding="utf-8"), "run `make readme`"


@pytest.mark.parametrize("name", METHODS)
def test_the_page_has_all_settings_with_their_defaults(name: str) -> None:
    method, shown = METHODS[name], settings_on_the_page("default")[name]
    assert {*shown, "seed"} == set(method.setting_names)
    assert method.resolve_settings(shown) == method.resolve_settings({})


@pytest.mark.parametrize("name", METHODS)
def test_the_page_has_the_settings_of_the_paper(name: str) -> None:
    method, shown = METHODS[name], settings_on_the_page("paper")[name]
    changed = {setting: value for setting, value in shown.items() if value != ""}
    assert method.resolve_settings(changed) == method.resolve_settings({}, preset="paper")
