"""Operations of the user's own that are named by the place where Python finds them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, cast

from cadda._internal.text import short_reason
from cadda.operations.base import Operation

__all__ = ["OwnOperations", "find_operations"]

OwnOperations: TypeAlias = Sequence[str | Operation | type[Operation]]
"""Names of operations, ``"all"``, ``"paper"``, and a user's own operations or their classes."""


def find_operations(names: Sequence[str] | None) -> OwnOperations | None:
    """Import the operations that are named as ``module:Class``; other names stay names."""
    return None if names is None else [_import(name) if ":" in name else name for name in names]


def _import(place: str) -> Operation | type[Operation]:
    """Import an operation, or its class, from a module that may be in the current folder."""
    module, _, name = place.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return cast("Operation | type[Operation]", getattr(importlib.import_module(module), name))
    # A module of the user's own can raise anything.
    except Exception as error:
        raise ValueError(
            f"`operations` must be names or module:Class, got {place!r}, which cannot be "
            f"imported: {short_reason(error)}."
        ) from error
