"""What the page on the architecture names is where it says."""

from __future__ import annotations

import re
import tomllib
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(cadda(?:\.\w+)+)`", TEXT)))
PATHS = sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+(?:/\w+)+(?:\.py|\.md)?)`", TEXT)))


def find(name: str) -> object:
    """Import the longest part of a dotted name that is a module, then take attributes."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[n:], module)
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    find(name)


@pytest.mark.parametrize("path", PATHS)
def test_path_exists(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "src" / "cadda" / path).exists()


def test_every_package_is_described() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "cadda").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"`(\w+)`", TEXT))


def test_packages_are_in_the_order_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    table = TEXT[TEXT.index("| layer |") :].split("\n\n")[0].splitlines()[2:]
    rows = [re.findall(r"`(\w+)`", row.split(" | ")[0]) for row in table]
    assert rows == [re.findall(r"cadda\.(\w+)", layer) for layer in layers]
