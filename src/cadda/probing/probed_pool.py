"""The operations that a search chooses from once a probe has shown what they do to classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cadda.operations.pool import OperationPool
from cadda.probing.passing import LENIENT, Passing, passing_operations, with_passing_maps
from cadda.probing.probe_result import ProbeResult

__all__ = ["PoolChange", "probed_pool"]

MIN_OPERATIONS = 2
"""A search needs something to choose from."""


@dataclass(frozen=True)
class PoolChange:
    """What a probe changed about the operations of a search."""

    added: tuple[str, ...]  # operations with a label map
    left_out: tuple[str, ...]  # operations that do not pass
    note: str  # the same as a sentence, or why nothing was changed


def probed_pool(pool: OperationPool, probe: ProbeResult) -> tuple[OperationPool, PoolChange]:
    """Keep the operations that pass a probe, up to the magnitudes where they do.

    An operation that turns classes into others passes with a label map only, with which its labels
    are right. The rule is lenient, and without a test: it is left to the search how often each
    operation is used, and few subjects would prove nothing.

    Parameters
    ----------
    pool : OperationPool
        Operations to choose from, for windows whose classes are known.
    probe : ProbeResult
        What operations do to these classes.

    Returns
    -------
    pool : OperationPool
        The operations that pass, with label maps and limits of their magnitudes. It is the given
        one if the model of the probe was at chance, or if fewer than two operations would remain.
    change : PoolChange
        What was changed, in a sentence too.
    """
    if sorted(probe.class_names) != sorted(pool.class_names):
        raise ValueError(
            f"`probe` must be of windows of the classes {list(pool.class_names)}, got one of "
            f"{list(probe.class_names)}."
        )
    if not probe.is_promising:
        return pool, _unchanged("its model is not better than chance, so it decides nothing")
    passing = passing_operations(probe, pool, retained=LENIENT)
    larger = with_passing_maps(pool, passing)
    # Label maps of the user's own, and operations that were not probed, stay.
    passed = {item.entry(1.0).choice for item in passing}
    kept = [name for name in larger.names if name in passed or name not in probe.operations]
    if len(kept) < MIN_OPERATIONS:
        return pool, _unchanged(
            f"all but {len(kept)} of {len(pool)} operations keep no class, so all stay"
        )
    smaller = larger.select(kept).with_limits(_limits(passing))
    added = tuple(name for name in smaller.names if name not in pool)
    left_out = tuple(name for name in pool.names if name not in smaller)
    if not (added or left_out or smaller.limits):
        return pool, _unchanged("all of them keep the classes at all magnitudes")
    return smaller, PoolChange(added, left_out, _describe(smaller, added, left_out))


def _limits(passing: Sequence[Passing]) -> dict[str, float]:
    """Return the largest magnitudes of the operations that do not pass at all magnitudes."""
    return {
        item.entry(1.0).choice: item.magnitude
        for item in passing
        if item.magnitude is not None and item.magnitude < 1
    }


def _describe(pool: OperationPool, added: Sequence[str], left_out: Sequence[str]) -> str:
    """Return what was changed about the operations, as a sentence without its full stop."""
    limits = (f"{name} up to {limit:g}" for name, limit in pool.limits.items())
    parts = {
        "it adds ": added,
        "it leaves out what does not keep the classes: ": left_out,
        "it limits magnitudes: ": tuple(limits),
    }
    said = "; ".join(text + ", ".join(names) for text, names in parts.items() if names)
    return f"The probe changes the operations: {said}"


def _unchanged(reason: str) -> PoolChange:
    return PoolChange((), (), f"The probe leaves the operations as they are: {reason}")
