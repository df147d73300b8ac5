"""Objects of the user's own that are named by the place where Python finds them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from cadda._internal.text import short_reason

__all__ = ["import_place", "is_place", "place_of"]


def is_place(name: str) -> bool:
    """Check whether a name has the form ``module:name``."""
    module, colon, item = name.partition(":")
    parts = (*module.split("."), item)
    return bool(colon) and all(part.isidentifier() for part in parts)


def import_place(place: str, problem: str) -> Any:
    """Import an object from a module that may be in the current folder."""
    module, _, name = place.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), name)
    # A module of the user's own can raise anything.
    except Exception as error:
        raise ValueError(
            f"{problem}, got {place!r}, which cannot be imported: {short_reason(error)}."
        ) from error


def place_of(item: Any) -> str | None:
    """Return where other processes can import a class or a function from; None if nowhere."""
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    place = f"{module}:{name}"
    if module == "__main__" or not is_place(place):
        return None
    try:
        return place if import_place(place, "") is item else None
    except ValueError:
        return None
