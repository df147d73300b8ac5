"""Operations that change the class of a window: which class becomes which."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.text import did_you_mean
from cadda.operations.base import Batch, Constant, Draw, Operation, Settings

__all__ = [
    "NOT_MAPPED",
    "LabelMap",
    "MappedOperation",
    "check_mapping",
    "cycles_of",
    "describe_mapping",
    "label_table",
    "mapping_of",
    "plain_name",
    "plain_operation",
    "target_labels",
]

NOT_MAPPED = -1
"""Stands for the label after an operation of a class that a label map does not name."""


@dataclass(frozen=True)
class LabelMap:
    """What the classes of windows are after an operation.

    Parameters
    ----------
    operation : str
        Name of the operation.
    mapping : dict of str to str
        Class after the operation by class before it: a permutation of the classes that it names.
        Windows of other classes are left as they are, because the operation does not suit them.
    magnitude : float | None
        Magnitude at which it was found; None for an operation without magnitude.

    Examples
    --------
    >>> swap = LabelMap("channel_symmetry", {"left": "right", "right": "left"})
    >>> str(swap)
    'channel_symmetry (left ↔ right)'
    """

    operation: str
    mapping: dict[str, str]
    magnitude: float | None = None

    def __post_init__(self) -> None:
        check_mapping(self.mapping)

    def __str__(self) -> str:
        return f"{self.operation} ({describe_mapping(self.mapping)})"


class MappedOperation(Operation):
    """An operation that changes the class of windows, too.

    Parameters
    ----------
    operation : Operation
        What happens to the signal.
    mapping : mapping of str to str
        Class after the operation by class before it; see `LabelMap`.
    """

    def __init__(self, operation: Operation, mapping: Mapping[str, str]) -> None:
        check_mapping(mapping)
        self.operation, self.mapping = operation, dict(mapping)
        self.name = f"{operation.name} ({describe_mapping(mapping)})"
        self.has_magnitude = operation.has_magnitude
        self.needs_labels = operation.needs_labels

    @property
    def settings(self) -> dict[str, float | bool | str]:
        return self.operation.settings

    def with_settings(self, settings: Settings) -> MappedOperation:
        return MappedOperation(self.operation.with_settings(settings), self.mapping)

    def sample_group(self, batch: Batch, windows: Tensor, generator: Generator | None) -> Draw:
        return self.operation.sample_group(batch, windows, generator)

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return self.operation.apply(x, magnitude, draw)

    def check(self, x: Tensor) -> None:
        self.operation.check(x)


def plain_operation(operation: Operation) -> Operation:
    """Return the operation without its label map."""
    return operation.operation if isinstance(operation, MappedOperation) else operation


def plain_name(name: str) -> str:
    """Return the name of an operation without its label map."""
    return name.partition(" ")[0]


def mapping_of(operation: Operation) -> dict[str, str] | None:
    """Return the label map of an operation, None if it keeps every class."""
    return operation.mapping if isinstance(operation, MappedOperation) else None


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Raise `ValueError` for a map that is not a permutation of its classes, or changes none."""
    before, after = sorted(mapping), sorted(mapping.values())
    if before != after:
        raise ValueError(
            "a label map must send the classes that it names to one another, each to a different "
            f"one, got {dict(mapping)}; {_missing(mapping)}"
        )
    if all(old == new for old, new in mapping.items()):
        raise ValueError(
            f"a label map must change a class, got {dict(mapping)}; leave it out, and every class "
            "is kept"
        )


def _missing(mapping: Mapping[str, str]) -> str:
    targets = list(mapping.values())
    twice = next((name for name in targets if targets.count(name) > 1), None)
    if twice is not None:
        return f"{twice!r} is the target of two classes"
    return f"say what {next(name for name in targets if name not in mapping)!r} becomes"


def describe_mapping(mapping: Mapping[str, str]) -> str:
    """Return a label map as its cycles, such as ``"left ↔ right"`` or ``"6 ↔ 9, 8 kept"``.

    Equal maps have equal descriptions, different maps different ones.
    """
    parts, kept = [], []
    for cycle in cycles_of(dict(sorted(mapping.items()))):
        names = [_shown(name) for name in cycle]
        if len(names) == 1:
            kept.append(f"{names[0]} kept")
        elif len(names) == 2:
            parts.append(" ↔ ".join(names))
        else:
            parts.append(" → ".join([*names, names[0]]))
    return ", ".join([*parts, *kept])


def cycles_of(mapping: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the cycles of a permutation, each from the class that the map names first."""
    seen = set[str]()
    for first in mapping:
        if first not in seen:
            cycle = [first]
            while (name := mapping[cycle[-1]]) != first:
                cycle.append(name)
            seen.update(cycle)
            yield cycle


def _shown(name: str) -> str:
    """Return the name of a class, in quotes if it looks like more than one."""
    return repr(name) if re.search("[↔→,'\"]", name) else name


def target_labels(mapping: Mapping[str, str], class_names: Sequence[str]) -> list[int]:
    """Return the label after the operation of each class; `NOT_MAPPED` for those not named."""
    for name in mapping:
        if name not in class_names:
            hint = did_you_mean(name, class_names)
            raise ValueError(
                f"a label map must name classes of the data, {list(class_names)}, got "
                f"{name!r}{hint}."
            )
    index = {name: label for label, name in enumerate(class_names)}
    return [index[mapping[name]] if name in mapping else NOT_MAPPED for name in class_names]


def label_table(operations: Sequence[Operation], class_names: Sequence[str]) -> Constant | None:
    """Lay label maps out as labels after each operation, int64 (n_operations + 1, n_classes).

    `NOT_MAPPED` marks classes that the operation is not for; the last row stands for no operation.
    """
    maps = [mapping_of(operation) for operation in operations]
    if not any(maps):
        return None
    if not class_names:
        raise ValueError(
            "`class_names` of the pool, in the order of the labels, are needed for label maps; "
            "make it with operation_pool(windows), or call pool.for_classes(class_names) first."
        )
    kept = list(range(len(class_names)))
    rows = [target_labels(mapping, class_names) if mapping else kept for mapping in maps]
    return Constant(torch.tensor([*rows, kept]))
