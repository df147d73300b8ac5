"""The operations that a policy may choose from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from cadda._internal.frames import make_frame
from cadda._internal.text import did_you_mean
from cadda.operations.base import Operation, Settings
from cadda.operations.label_maps import (
    LabelMap,
    MappedOperation,
    label_table,
    plain_operation,
)

__all__ = ["OperationPool"]


class OperationPool:
    """An ordered set of operations, found by name or by number.

    Parameters
    ----------
    operations : iterable of Operation
        The operations, no two with the same name.
    left_out : mapping of str to str
        Operations that would have belonged here, each with the reason why it does not.
    extra : iterable of Operation
        Operations that are in the pool only once a policy uses or `select` names them.
    sfreq : float | None
        Sampling rate in Hz of the windows that the pool is for.
    ch_names : sequence of str
        Channels of the windows that the pool is for; empty for images.
    class_names : sequence of str
        Classes of the windows in the order of their labels; only label maps need them.
    limits : mapping of str to float
        Largest magnitudes that searches try, by name of the operation; 1 where there is none.

    Examples
    --------
    >>> from cadda.operations import image_pool
    >>> pool = image_pool()
    >>> pool.names
    ('horizontal_flip', 'vertical_flip', 'rotation_90', 'rotation_180')
    >>> pool["rotation_90"].has_magnitude
    False
    """

    def __init__(
        self,
        operations: Iterable[Operation],
        *,
        left_out: Mapping[str, str] | None = None,
        extra: Iterable[Operation] = (),
        sfreq: float | None = None,
        ch_names: Sequence[str] = (),
        class_names: Sequence[str] = (),
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self._operations = tuple(operations)
        self.left_out = dict(left_out or {})
        self.extra = tuple(extra)
        self.sfreq = sfreq
        self.ch_names = tuple(ch_names)
        self.class_names = tuple(class_names)
        if not self._operations:
            raise ValueError("`operations` must have at least one operation, got none.")
        self._index = {operation.name: i for i, operation in enumerate(self._operations)}
        if len(self._index) < len(self._operations):
            names = [operation.name for operation in self._operations]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"`operations` must have different names, got `{twice}` twice.")
        self.limits = {name: m for name, m in (limits or {}).items() if name in self._index}
        self.label_table = label_table(self._operations, self.class_names)
        """Label after each operation by label before it; None if all keep every class."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the operations, in order."""
        return tuple(self._index)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the operations, of what they were made with, and of the windows they suit."""
        plain = [plain_operation(item) for item in self._operations]
        made_with = [
            # What an operation computes and keeps for later is private.
            {name: value for name, value in vars(item).items() if not name.startswith("_")}
            for item in plain
        ]
        # The names of operations with a label map have it.
        classes = [type(item).__qualname__ for item in plain]
        parts = [self.names, classes, made_with, self.sfreq, self.ch_names]
        content = _describe([*parts, self.limits] if self.limits else parts)
        return hashlib.sha256(content.encode()).hexdigest()

    def index(self, name: str) -> int:
        """Return the index of an operation.

        Parameters
        ----------
        name : str
            Name of the operation.

        Returns
        -------
        int
            Its index in `names`.
        """
        if name in self._index:
            return self._index[name]
        if name in self.left_out:
            raise KeyError(f"operation `{name}` was left out of this pool: {self.left_out[name]}.")
        known = f"the pool has {', '.join(self.names)}"
        raise KeyError(f"unknown operation `{name}`{did_you_mean(name, self.names)}; {known}.")

    def plain(self, name: str) -> Operation:
        """Return an operation without label map.

        Parameters
        ----------
        name : str
            Name of the operation; the pool may have it with a label map only.

        Returns
        -------
        Operation
            The operation.
        """
        known = {item.name: item for item in map(plain_operation, self._operations)}
        return known[name] if name in known else self[name]

    def select(self, names: Sequence[str]) -> OperationPool:
        """Make a pool of some of the operations.

        Parameters
        ----------
        names : sequence of str
            Operations to keep, in the order wanted.

        Returns
        -------
        OperationPool
            The smaller pool.
        """
        return self._of((self[name] for name in names), extra=())

    def with_extra(self) -> OperationPool:
        """Make a pool with its extra operations as well.

        Returns
        -------
        OperationPool
            The larger pool.
        """
        return self._of([*self, *self.extra])

    def with_operation(self, operation: Operation) -> OperationPool:
        """Make a pool with one more operation, or with another one of the same name.

        Parameters
        ----------
        operation : Operation
            The operation to add.

        Returns
        -------
        OperationPool
            The new pool.
        """
        if not isinstance(operation, Operation):
            given = type(operation).__name__
            if isinstance(operation, type):
                given = f"the class {operation.__name__}; pass an instance"
            raise TypeError(f"`operation` must be an Operation, got {given}.")
        operations = {own.name: own for own in self._operations} | {operation.name: operation}
        return self._of(operations.values())

    def with_settings(self, settings: Mapping[str, Settings]) -> OperationPool:
        """Make a pool in which some operations have other settings.

        Parameters
        ----------
        settings : mapping of str to mapping
            New settings by name of the operation, such as ``{"time_mask": {"max_length": 3.0}}``;
            others stay as they are.

        Returns
        -------
        OperationPool
            The new pool.
        """
        for name in settings:
            self.plain(name)

        def changed(operation: Operation) -> Operation:
            return operation.with_settings(settings.get(plain_operation(operation).name, {}))

        return self._of(map(changed, self._operations), extra=map(changed, self.extra))

    def with_label_maps(self, label_maps: Iterable[LabelMap]) -> OperationPool:
        """Make a pool in which operations that change the class stand beside those that do not.

        Parameters
        ----------
        label_maps : iterable of LabelMap
            What each such operation does to the classes.

        Returns
        -------
        OperationPool
            The larger pool, with one more operation for each map that it does not have yet.
        """
        mapped = (MappedOperation(self.plain(item.operation), item.mapping) for item in label_maps)
        new = {operation.name: operation for operation in mapped}
        return self._of([*self, *(new[name] for name in new if name not in self)])

    def for_classes(self, class_names: Sequence[str]) -> OperationPool:
        """Make a pool of the same operations for windows of some classes.

        Parameters
        ----------
        class_names : sequence of str
            Classes in the order of their labels.

        Returns
        -------
        OperationPool
            The pool.
        """
        return self._of(self._operations, class_names)

    def with_limits(self, limits: Mapping[str, float]) -> OperationPool:
        """Make a pool of the same operations, of which searches try smaller magnitudes only.

        Parameters
        ----------
        limits : mapping of str to float
            Largest magnitudes by name of the operation.

        Returns
        -------
        OperationPool
            The pool; policies that were written by hand may still go beyond the limits.
        """
        return self._of(self._operations, limits={**self.limits, **limits})

    @property
    def max_magnitudes(self) -> tuple[float, ...]:
        """Largest magnitude that searches try of each operation."""
        return tuple(self.limits.get(name, 1.0) for name in self.names)

    @property
    def settings(self) -> dict[str, dict[str, float | bool | str]]:
        """Settings of each operation by name; those with a label map are not listed twice."""
        return {plain_operation(item).name: item.settings for item in self._operations}

    @property
    def mapped_classes(self) -> tuple[str, ...] | None:
        """Classes of the windows if some operation changes them, else None."""
        return None if self.label_table is None else self.class_names

    def _of(
        self,
        operations: Iterable[Operation],
        class_names: Sequence[str] | None = None,
        extra: Iterable[Operation] | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> OperationPool:
        """Make a pool for the same windows."""
        chosen = tuple(operations)
        names = {plain_operation(item).name for item in chosen}
        return OperationPool(
            chosen,
            left_out=self.left_out,
            extra=[
                item for item in (self.extra if extra is None else extra) if item.name not in names
            ],
            sfreq=self.sfreq,
            ch_names=self.ch_names,
            class_names=self.class_names if class_names is None else class_names,
            limits=self.limits if limits is None else limits,
        )

    def check(self, x: Tensor) -> None:
        """Raise `ValueError` if some operation of the pool cannot transform the windows.

        Parameters
        ----------
        x : Tensor
            The windows.
        """
        for operation in self._operations:
            operation.check(x)

    def to_frame(self) -> Any:
        """Return the operations as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per operation of the pool, with its settings as a dict, then one per operation
            that is left out, with the reason.
        """
        present = (
            {
                "operation": item.name,
                "in_pool": True,
                "has_magnitude": item.has_magnitude,
                "settings": item.settings,
                "reason": "",
            }
            for item in self._operations
        )
        missing = (
            {"operation": name, "in_pool": False, "reason": reason}
            for name, reason in self.left_out.items()
            if name not in self
        )
        columns = ("operation", "in_pool", "has_magnitude", "settings", "reason")
        return make_frame((*present, *missing), columns)

    def __getitem__(self, key: str | int) -> Operation:
        if isinstance(key, int):
            return self._operations[key]
        extra = {item.name: item for item in self.extra}
        return extra[key] if key in extra else self._operations[self.index(key)]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __len__(self) -> int:
        return len(self._operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    def __repr__(self) -> str:
        left_out = f", left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"OperationPool({', '.join(self.names)}{left_out})"


def _describe(value: object) -> str:
    """Write a value as text; numbers that were computed are rounded, as their last digits vary."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        return f"{value.shape}{np.round(value.astype(float), 6).tolist()}"
    if isinstance(value, Mapping):
        value = [(name, value[name]) for name in sorted(value)]
    if isinstance(value, list | tuple):
        return f"[{','.join(_describe(item) for item in value)}]"
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if is_plain else type(value).__qualname__
