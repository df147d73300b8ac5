"""Every public object is documented, and docstrings name the parameters that there are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import cadda


def modules() -> list[str]:
    found = pkgutil.walk_packages(cadda.__path__, "cadda.")
    return sorted(module.name for module in found)


def public_objects(module_name: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(module_name)
    for name in getattr(module, "__all__", []):
        value = inspect.getattr_static(module, name, None) or getattr(module, name)
        if getattr(value, "__module__", None) != module_name:
            continue
        yield f"{module_name}.{name}", value
        if inspect.isclass(value):
            for key, member in vars(value).items():
                if not key.startswith("_") and inspect.isfunction(member):
                    yield f"{module_name}.{name}.{key}", getattr(value, key)


OBJECTS = [pair for name in modules() for pair in public_objects(name)]


def documented_parameters(doc: str) -> list[str]:
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.S | re.M)
    if section is None:
        return []
    names = re.findall(r"^(\*{0,2}\w[\w, *]*) : ", section[1], re.M)
    return [name.strip(" *") for group in names for name in group.split(",")]


@pytest.mark.parametrize("name", modules())
def test_module_says_what_it_is_for(name: str) -> None:
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize(("name", "value"), OBJECTS, ids=[name for name, _ in OBJECTS])
def test_documented(name: str, value: Any) -> None:
    doc = inspect.getdoc(value)
    assert doc
    inherited = value.__doc__ is None or (
        inspect.isclass(value) and "__init__" not in vars(value) and "Parameters\n" not in doc
    )
    # Commands document their parameters in the help of each option, tests have none.
    elsewhere = name.startswith(("cadda.cli.", "cadda.testing."))
    if (
        inherited
        or elsewhere
        or getattr(value, "_is_protocol", False)
        or (inspect.isclass(value) and issubclass(value, Exception))
    ):
        return
    expected = [p for p in inspect.signature(value).parameters if p not in ("self", "cls")]
    assert sorted(documented_parameters(doc)) == sorted(expected)
