"""Policies and pools of operations that fit each other."""

from __future__ import annotations

import warnings

from cadda._internal.user_warnings import warn_user
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.label_maps import plain_operation
from cadda.operations.pool import OperationPool
from cadda.policies.spec.adapting import drop_rare, in_class_order, never_applied
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "UNFIT",
    "complete_settings",
    "fitting_pool",
    "fitting_spec",
    "record_settings",
    "record_windows",
]

UNFIT = "the policy does not fit the windows: "
"""How the message begins of a policy that cannot be used with a pool."""


def fitting_spec(spec: PolicySpec, pool: OperationPool) -> PolicySpec:
    """Return the spec with the classes of a pool, and without what it lacks and is hardly used."""
    filler = never_applied(plain_operation(pool[0]).name, has_magnitude=pool[0].has_magnitude)
    known = {plain_operation(operation).name for operation in pool}
    reasons = {name: why for name, why in pool.left_out.items() if name not in known}
    spec, notes = drop_rare(in_class_order(spec, pool.class_names), reasons, filler)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return spec


def fitting_pool(spec: PolicySpec, pool: OperationPool) -> OperationPool:
    """Return the pool with every choice of a spec, with its settings; raise if it does not fit."""
    for name in spec.operations_used:
        try:
            operation = pool.plain(name)
        except KeyError as error:
            reason = pool.left_out.get(name)
            problem = error.args[0] if reason is None else f"`{name}` is not applicable: {reason}."
            raise ValueError(f"{UNFIT}{problem}") from None
        wanted = spec.operations.get(name)
        if wanted and wanted != operation.settings:
            try:
                pool = pool.with_settings({name: wanted})
            except ValueError as error:
                raise ValueError(f"{UNFIT}{error}") from None
        if name not in pool:
            pool = pool.with_operation(pool.plain(name))
    if not spec.is_classwise and not spec.label_maps:
        return pool
    names = spec.class_names or pool.class_names
    if not pool.class_names and names != tuple(map(str, range(len(names)))):
        warn_user(
            f"the labels 0 to {len(names) - 1} are taken for the classes {list(names)}, in the "
            "order of the policy, as `pool` has no class names; pass `class_names` to "
            "`operation_pool` in the order of the labels."
        )
    if pool.class_names and names != pool.class_names:
        raise ValueError(
            f"{UNFIT}it is for the classes {list(names)}, but the "
            f"windows have {list(pool.class_names)}."
        )
    return pool.for_classes(names).with_label_maps(spec.label_maps)


def record_settings(spec: PolicySpec, pool: OperationPool) -> PolicySpec:
    """Return a policy that has the settings of its operations, if some are not the default."""
    if spec.operations:
        return spec
    used = {name: pool.plain(name).settings for name in spec.operations_used}
    known = (name for name in used if name in CATALOGUE)
    if not any(CATALOGUE[name].changed_settings(used[name]) for name in known):
        return spec
    return spec.model_copy(update={"operations": used})


def complete_settings(spec: PolicySpec, pool: OperationPool) -> PolicySpec:
    """Return a policy with the settings of a pool that it has no value of its own for."""
    known = pool.settings
    used = {
        name: {**known.get(name, {}), **spec.operations.get(name, {})}
        for name in spec.operations_used
    }
    return spec.model_copy(update={"operations": {**spec.operations, **used}})


def record_windows(spec: PolicySpec, pool: OperationPool) -> PolicySpec:
    """Return a policy that has the sampling rate, channels and classes that exports need."""
    class_names = pool.class_names if spec.label_maps else ()
    return spec.model_copy(
        update={
            "class_names": spec.class_names or class_names or None,
            "sfreq": spec.sfreq or pool.sfreq,
            "ch_names": spec.ch_names or pool.ch_names or None,
        }
    )
