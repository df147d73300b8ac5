"""Operations of the user's own that are named by the place where Python finds them."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from cadda._internal.places import import_place
from cadda._internal.text import storable
from cadda.operations.base import Operation

__all__ = ["OwnOperation", "OwnOperations", "find_operations", "locate_operations"]

OwnOperations: TypeAlias = Sequence[str | Operation | type[Operation]]
"""Names of operations, ``"all"``, ``"paper"``, and a user's own: operations, their classes, or
``"module:Class"``."""


@dataclass(frozen=True)
class OwnOperation:
    """Where an operation of the user's own was imported from."""

    name: str
    place: str  # module:Class
    folder: str | None  # that Python must find modules in; None for an installed module


def find_operations(names: OwnOperations | None) -> OwnOperations | None:
    """Import the operations that are named as ``module:Class``; others stay as they are."""
    if names is None or isinstance(names, str):
        return names
    return [_import(item) if _has_place(item) else item for item in names]


def locate_operations(operations: object) -> tuple[OwnOperation, ...]:
    """Return where the operations that are named as ``module:Class`` are imported from."""
    if isinstance(operations, str) or not isinstance(operations, Sequence):
        return ()
    return tuple(
        OwnOperation(_import(item).name, item, _folder_of(item.partition(":")[0]))
        for item in operations
        if _has_place(item)
    )


def _has_place(item: object) -> bool:
    # After a space comes a label map, with names of classes that may have colons.
    return isinstance(item, str) and ":" in item and " " not in item


def _import(place: object) -> Operation | type[Operation]:
    """Import an operation, or its class, from a module that may be in the current folder."""
    found = import_place(str(place), "`operations` must be names or module:Class")
    return cast("Operation | type[Operation]", found)


def _folder_of(module: str) -> str | None:
    """Return the folder in which Python has found a module; None if it is installed."""
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    depth = module.count(".") + (path.stem == "__init__")
    folder = path.parents[depth]
    installed = {Path(path).resolve() for path in sysconfig.get_paths().values()}
    return None if folder in installed else storable(str(folder))
