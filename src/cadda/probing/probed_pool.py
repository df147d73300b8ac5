"""The operations that a search chooses from once a probe has shown what they do to classes."""

from __future__ import annotations

from dataclasses import dataclass

from cadda.operations.label_maps import LabelMap
from cadda.operations.pool import OperationPool
from cadda.probing.probe_result import ProbeResult

__all__ = ["PoolChange", "probed_pool"]

MIN_OPERATIONS = 2
"""A search needs something to choose from."""


@dataclass(frozen=True)
class PoolChange:
    """What a probe changed about the operations of a search."""

    added: tuple[str, ...]  # operations with a label map
    left_out: tuple[str, ...]  # operations that keep no class
    note: str  # the same as a sentence, or why nothing was changed


def probed_pool(pool: OperationPool, probe: ProbeResult) -> tuple[OperationPool, PoolChange]:
    """Add the label maps that a probe proposes, and leave out what keeps no class.

    An operation that turns every class into another one is left out without its map, with which
    its labels are right.

    Parameters
    ----------
    pool : OperationPool
        Operations to choose from, for windows whose classes are known.
    probe : ProbeResult
        What operations do to these classes.

    Returns
    -------
    pool : OperationPool
        The operations that remain and those with label maps. It is the given one if the model of
        the probe was at chance, or if fewer than two operations would remain.
    change : PoolChange
        What was changed, in a sentence too.
    """
    if sorted(probe.class_names) != sorted(pool.class_names):
        raise ValueError(
            f"`probe` must be of windows of the classes {list(pool.class_names)}, got one of "
            f"{list(probe.class_names)}."
        )
    if not probe.is_useful:
        return pool, _unchanged("its model is not better than chance, so it decides nothing")
    left_out = tuple(name for name in probe.harmful if name in pool)
    label_maps = [
        item for item in probe.label_maps if item.operation in pool and _holds(probe, item)
    ]
    larger = pool.with_label_maps(label_maps)
    kept = [name for name in larger.names if name not in left_out]
    if len(kept) < MIN_OPERATIONS:
        return pool, _unchanged(
            f"all but {len(kept)} of {len(pool)} operations keep no class, so all stay"
        )
    added = tuple(name for name in larger.names if name not in pool)
    if not added and not left_out:
        reason = "no operation turns classes into each other or keeps none of them"
        return pool, _unchanged(reason)
    parts = [f"it adds {', '.join(added)}"] if added else []
    parts += [f"it leaves out what keeps no class: {', '.join(left_out)}"] * bool(left_out)
    note = f"The probe changes the operations: {'; '.join(parts)}"
    return larger.select(kept), PoolChange(added, left_out, note)


def _holds(probe: ProbeResult, label_map: LabelMap) -> bool:
    """Return whether no magnitude keeps a class that a map changes: a search may choose any."""
    moved = {old for old, new in label_map.mapping.items() if old != new}
    rows = (row for row in probe.rows(label_map.operation) if row.class_name in moved)
    return not any(row.verdict == "keeps" for row in rows)


def _unchanged(reason: str) -> PoolChange:
    return PoolChange((), (), f"The probe leaves the operations as they are: {reason}")
