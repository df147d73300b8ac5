"""Objects given to a comparison, by the names that its folder keeps."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

from cadda._internal.files import make_folder
from cadda._internal.places import import_place, is_place, place_of
from cadda._internal.text import quote
from cadda.models.registry import BRAINDECODE, ModelSource
from cadda.operations.base import Operation
from cadda.operations.own import OwnOperations
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.training.optimizers import OPTIMIZERS, OptimizerFactory

__all__ = [
    "find_model",
    "find_optimizer",
    "model_name",
    "name_methods",
    "name_operations",
    "optimizer_name",
]


def model_name(model: object) -> str:
    """Return the name of a model, or the place of a function; raise for what has neither."""
    return _name(model, "model", "a module", "a name such as 'shallow' or 'braindecode:NAME'")


def optimizer_name(optimizer: object) -> str:
    """Return the name of an optimizer, or the place of a function; raise for what has neither."""
    return _name(optimizer, "optimizer", "a function", f"one of {', '.join(OPTIMIZERS)}")


def find_model(name: str) -> ModelSource:
    """Import a model that is named as ``module:function``; others stay as they are."""
    if name.startswith(BRAINDECODE) or not is_place(name):
        return name
    found: ModelSource = import_place(name, "`model` must be a name or module:function")
    return found


def find_optimizer(name: str) -> str | OptimizerFactory:
    """Import an optimizer that is named as ``module:function``; others stay as they are."""
    if not is_place(name):
        return name
    found: OptimizerFactory = import_place(name, "`optimizer` must be a name or module:function")
    return found


def _name(item: object, argument: str, kept_out: str, names: str) -> str:
    """Return a name, or the place that other processes import a function from."""
    if isinstance(item, str):
        return item
    place = place_of(item) if callable(item) else None
    if place is None:
        kind = getattr(item, "__name__", type(item).__name__)
        raise TypeError(
            f"`{argument}` of a comparison, which other processes may continue, must be {names}, "
            f"or a function that they can import, got {kind}; put the function into a module, or "
            f"use `cadda.fit` and `cadda.search`, which take {kept_out} too."
        )
    return place


def name_methods(methods: Sequence[object], folder: Path) -> list[str]:
    """Return methods by name; policies are saved in the folder, by a part of their digest."""
    if isinstance(methods, str):
        raise TypeError(f"`methods` must be a list of names, got the text {methods!r}.")
    return [_method_name(item, folder) for item in methods]


def _method_name(item: object, folder: Path) -> str:
    if isinstance(item, str | os.PathLike):
        return str(os.fspath(item))
    if not isinstance(item, PolicySpec | PolicySchedule):
        raise TypeError(
            "`methods` must be names of methods, files of policies, policies or schedules, got "
            f"{quote(item)}{'; pass its `policy`' if hasattr(item, 'policy') else ''}."
        )
    digest = hashlib.sha256(item.to_json().encode()).hexdigest()
    file = folder / f"policy-{digest[:8]}.json"
    make_folder(folder)
    item.save(file)
    return str(file)


def name_operations(operations: OwnOperations | None) -> list[str] | None:
    """Return operations by name, your own as module:Class; raise if there is no such place."""
    if operations is None or isinstance(operations, str):
        return None if operations is None else [operations]
    return [item if isinstance(item, str) else _place(item) for item in operations]


def _place(item: object) -> str:
    """Return where a class of operations, or that of an operation, can be imported from."""
    kind = item if isinstance(item, type) else type(item)
    place = place_of(kind)
    if place is None or not issubclass(kind, Operation):
        raise TypeError(
            "`operations` of a comparison must be names, or operations whose class other "
            f"processes can import, got {quote(item)}; put its class into a module and pass it as "
            "'module:Class'."
        )
    if isinstance(item, Operation) and not _is_default(item):
        raise ValueError(
            "`operations` of a comparison must have their default settings, got "
            f"{quote(item)}; pass others as `operation_settings`."
        )
    return place


def _is_default(item: Operation) -> bool:
    """Check whether an operation is as its class makes it; the sampling rate is that of data."""
    if not is_dataclass(item):
        return not vars(item)
    given = (part for part in fields(item) if part.name != "sfreq")
    return all(getattr(item, part.name) == part.default for part in given)
