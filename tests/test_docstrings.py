"""The public API and functions of tensors are documented in full, all else in a line."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest

import cadda

API = Path(__file__).parents[1] / "docs" / "api.rst"
TENSOR_CODE = (
    "cadda.signal.",
    "cadda.operations.",
    "cadda.policies.relaxed.",
    "cadda.searchers.gradient.",
)


def modules() -> list[str]:
    found = pkgutil.walk_packages(cadda.__path__, "cadda.")
    return sorted(module.name for module in found)


def public_objects(module_name: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(module_name)
    for name in getattr(module, "__all__", []):
        value = inspect.getattr_static(module, name, None) or getattr(module, name)
        is_alias = get_origin(value) is not None
        if is_alias or getattr(value, "__module__", None) != module_name:
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


def public_names() -> set[str]:
    """Names that the reference of the documentation lists, and where their objects are defined."""
    listed = re.findall(r"^   (cadda\.[\w.]+)$", API.read_text("utf-8"), re.M)
    names = set()
    for name in listed:
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        names.add(f"{value.__module__}.{attribute}")
    return names


PUBLIC = public_names()


def takes_tensors(value: Any) -> bool:
    if not inspect.isfunction(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    return any("Tensor" in str(parameter.annotation) for parameter in parameters)


def needs_parameters(name: str, value: Any) -> bool:
    """Users read the public API, and shapes matter in tensor code; a line will do elsewhere."""
    is_public = any(name == public or name.startswith(f"{public}.") for public in PUBLIC)
    if not is_public and not (name.startswith(TENSOR_CODE) and takes_tensors(value)):
        return False
    if name.rpartition(".")[2].startswith("test_"):
        return False
    is_error = inspect.isclass(value) and issubclass(value, Exception)
    return not is_error and not getattr(value, "_is_protocol", False)


@pytest.mark.parametrize(("name", "value"), OBJECTS, ids=[name for name, _ in OBJECTS])
def test_documented(name: str, value: Any) -> None:
    doc = inspect.getdoc(value)
    assert doc
    documented = documented_parameters(doc)
    inherited = value.__doc__ is None or (
        inspect.isclass(value) and "__init__" not in vars(value) and not documented
    )
    if inherited or not (documented or needs_parameters(name, value)):
        return
    expected = [p for p in inspect.signature(value).parameters if p not in ("self", "cls")]
    assert sorted(documented) == sorted(expected)
