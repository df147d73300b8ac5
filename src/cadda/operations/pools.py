"""Pools for EEG and for images, and pools of chosen operations."""

from __future__ import annotations

from collections.abc import Sequence

from cadda._internal.text import short_reason
from cadda._internal.validation import check_rate, check_sfreq
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE, Sensors, needs_sfreq, paper_operations
from cadda.operations.own import find_operations
from cadda.operations.pool import OperationPool

__all__ = ["choose_operations", "eeg_pool", "image_pool"]


def eeg_pool(sensors: Sensors) -> OperationPool:
    """Make the pool of the EEG operations that are applicable to a montage.

    Those that are not in a pool by default are its `extra`. Its `left_out` has those that are not
    applicable, each with the reason.
    """
    if sensors.rate is not None:
        check_rate(sensors.rate)
    rows = [row for row in CATALOGUE.values() if row.domain != "image"]
    reasons = {row.name: row.missing(sensors) for row in rows}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    made = {
        row.name: row.operation() if row.make is None else row.make(sensors)
        for row in rows
        if row.name not in left_out
    }
    return OperationPool(
        (item for name, item in made.items() if CATALOGUE[name].in_default),
        left_out=left_out,
        extra=(item for name, item in made.items() if not CATALOGUE[name].in_default),
        sfreq=sensors.rate,
        ch_names=sensors.ch_names,
    )


def choose_operations(
    pool: OperationPool, wanted: Sequence[str | Operation | type[Operation]]
) -> OperationPool:
    """Make a pool of operations by name, or of a user's own.

    They are in the order of the catalogue, and a user's own after them, so that the order in which
    they are given does not change what is drawn.

    ``"default"`` stands for the operations of the pool, ``"all"`` for its extra ones as well,
    ``"paper"`` for those of the paper, ``"module:Class"`` for what Python imports from there. A
    class is instantiated, with the sampling rate of the pool if it has a field `sfreq`.
    """
    groups = {
        "default": pool.names,
        "all": pool.with_extra().names,
        "paper": paper_operations(pool.names),
    }
    if isinstance(wanted, str):
        if wanted not in groups:
            raise TypeError(f"`operations` must be a list of names, got the text {wanted!r}.")
        wanted = [wanted]
    wanted = find_operations(wanted) or ()
    own = [_instance(item, pool) for item in wanted if not isinstance(item, str)]
    larger = pool
    for operation in own:
        larger = larger.with_operation(operation)
    added = iter(own)
    names = [
        name
        for item in wanted
        for name in (groups.get(item, [item]) if isinstance(item, str) else [next(added).name])
    ]
    order = {name: number for number, name in enumerate(CATALOGUE)}
    different = dict.fromkeys(names)
    return larger.select(sorted(different, key=lambda name: order.get(name, len(order))))


def _instance(item: Operation | type[Operation], pool: OperationPool) -> Operation:
    """Return an operation, made from its class if that is what is given."""
    if isinstance(item, Operation):
        return item
    if not (isinstance(item, type) and issubclass(item, Operation)):
        raise TypeError(
            "`operations` must have names and operations derived from cadda.Operation, got "
            f"{getattr(item, '__name__', type(item).__name__)}."
        )
    given = {}
    if needs_sfreq(item):
        given["sfreq"] = check_sfreq(pool.sfreq, f"operation `{item.name}`")
    try:
        return item(**given)
    except TypeError as error:
        raise TypeError(
            f"`operations`: {item.__name__} cannot be made without further arguments "
            f"({short_reason(error)}); pass an instance of it."
        ) from error


def image_pool() -> OperationPool:
    """Make the pool of the image operations, flips and rotations."""
    return OperationPool(row.operation() for row in CATALOGUE.values() if row.domain == "image")
