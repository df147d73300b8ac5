"""Adapting a policy to windows: order of their classes, operations that they cannot have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from cadda.policies.spec.entries import Stage, StageEntry, Subpolicy

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["drop_rare", "in_class_order", "never_applied"]

Spec = TypeVar("Spec", bound="PolicySpec")

MAX_DROPPED = 0.01
"""Largest share of the windows of a class that an operation to be dropped may change."""


def in_class_order(spec: Spec, class_names: Sequence[str]) -> Spec:
    """Return a policy with its classes in another order; itself if its classes are others."""
    names = tuple(class_names)
    if spec.class_names in (None, names) or set(spec.class_names or ()) != set(names):
        return spec
    return spec.model_copy(update={"class_names": names})


def drop_rare(
    spec: Spec, reasons: Mapping[str, str], filler: StageEntry
) -> tuple[Spec, list[str]]:
    """Drop operations that are not applicable where hardly a window has them.

    Parameters
    ----------
    spec : PolicySpec
        The policy.
    reasons : mapping of str to str
        Why each operation that is not applicable is not.
    filler : StageEntry
        An entry that is never applied, for subpolicies of which nothing is left.

    Returns
    -------
    spec : PolicySpec
        The policy without those operations; others are applied as often as before.
    notes : list of str
        What was dropped, and why.
    """
    used = [name for name in spec.operations_used if name in reasons]
    share = {name: _largest_share(spec, name) for name in used}
    dropped = {name for name in used if share[name] <= MAX_DROPPED}
    if not dropped:
        return spec, []
    policy = {
        row: tuple(_without(subpolicy, dropped, filler) for subpolicy in subpolicies)
        for row, subpolicies in spec.policy.items()
    }
    notes = [
        f"{name} is left out of the policy, in which it changes at most {share[name]:.2g} of the "
        f"windows of a class: {reasons[name]}."
        for name in used
        if name in dropped
    ]
    return spec.model_copy(update={"policy": policy}), notes


def never_applied(operation: str, *, has_magnitude: bool) -> StageEntry:
    """Return an entry that leaves every window as it is."""
    magnitude = 0.0 if has_magnitude else None
    return StageEntry(operation=operation, probability=0.0, magnitude=magnitude)


def _largest_share(spec: PolicySpec, operation: str) -> float:
    """Return the largest share of windows of a class that an operation may change."""
    choices = {entry.choice for entry in spec.entries if entry.operation == operation}
    columns = [n for n, name in enumerate(spec.operation_names) if name in choices]
    return float(spec.operation_probabilities()[:, columns].sum(1).max())


def _without(subpolicy: Subpolicy, dropped: set[str], filler: StageEntry) -> Subpolicy:
    stages = (_kept(stage, dropped) for stage in subpolicy.stages)
    kept = tuple(stage for stage in stages if stage)
    return subpolicy.model_copy(update={"stages": kept or ((filler,),)})


def _kept(stage: Stage, dropped: set[str]) -> Stage:
    """Return the other entries of a stage, with probabilities such that their use is the same."""
    kept = tuple(entry for entry in stage if entry.operation not in dropped)
    share = sum(entry.weight for entry in kept) / sum(entry.weight for entry in stage)
    if share in (0, 1):
        return kept if share else ()
    return tuple(
        entry.model_copy(update={"probability": share * entry.probability}) for entry in kept
    )
