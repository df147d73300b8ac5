"""The search methods by name."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cadda._internal.text import did_you_mean

if TYPE_CHECKING:
    from cadda.searchers.method import SearchMethod

__all__ = ["METHODS", "find_method", "is_method"]


# Each method has settings of its own, of which only the method itself knows the type.
class _Methods(UserDict[str, Any]):
    """Methods, or the names of where they are: importing them imports torch."""

    def __getitem__(self, name: str) -> SearchMethod[Any]:
        value: Any = self.data[name]
        if isinstance(value, str):
            module, _, attribute = value.rpartition(".")
            value = getattr(import_module(f"cadda.searchers.{module}"), attribute)
        method: SearchMethod[Any] = value
        return method


METHODS = _Methods(
    auto="race.methods.AUTO",
    guided="race.methods.GUIDED",
    trivial="race.methods.TRIVIAL",
    adda="methods.ADDA",
    cadda="methods.CADDA",
    dada="methods.DADA",
    faster_autoaugment="methods.FASTER_AUTOAUGMENT",
    autoaugment="methods.AUTOAUGMENT",
    fast_autoaugment="methods.FAST_AUTOAUGMENT",
    random="methods.RANDOM",
    randaugment="methods.RANDAUGMENT",
    population="methods.POPULATION",
)


def is_method(name: str) -> bool:
    """Check for the name of a method; case and hyphens do not matter."""
    return _key(name) in METHODS


def find_method(name: str) -> SearchMethod[Any]:
    """Return the method of a name; case and hyphens do not matter."""
    key = _key(name)
    if key not in METHODS:
        raise ValueError(
            f"unknown `method` {name!r}{did_you_mean(key, METHODS)}; "
            f"there are {', '.join(METHODS)}."
        )
    method: SearchMethod[Any] = METHODS[key]
    return method


def _key(name: str) -> str:
    return name.lower().replace("-", "_")
