"""What label maps do to the classes of windows on their way through a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.leakage import trace_operations

if TYPE_CHECKING:
    from cadda.policies.spec.entries import StageEntry
    from cadda.policies.spec.model import PolicySpec

__all__ = ["class_after", "describe_choice", "label_map_notes"]

NOTABLE_DRIFT = 0.01
"""Relative change of the number of windows of a class that is worth a sentence."""


def class_after(entry: StageEntry, class_name: str) -> str | None:
    """Return the class of a window after an operation; None if the operation is not for it."""
    if entry.label_map is None or class_name == ALL_CLASSES:
        return class_name
    return entry.label_map.get(class_name)


def describe_choice(entry: StageEntry, class_name: str, *, changed_before: bool = False) -> str:
    """Return an operation with its label map as a reader of one class wants it.

    What the class becomes, such as ``"channel_symmetry → right"``; the whole map if that depends
    on the stages before.
    """
    if entry.label_map is None or class_name not in entry.label_map or changed_before:
        return entry.choice
    return f"{entry.operation} → {entry.label_map[class_name]}"


def label_map_notes(spec: PolicySpec, class_names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return what a reader may overlook about the label maps of a policy, a sentence each.

    ``class_names`` are the classes of the windows, if these are known and the policy's are not.
    """
    if not spec.label_maps:
        return ()
    if spec.is_classwise:
        return (*_idle_maps(spec), *_drift(spec))
    return tuple(_left_alone(spec, spec.class_names or class_names))


def _left_alone(spec: PolicySpec, class_names: Sequence[str] | None) -> Iterator[str]:
    """Yield the classes that each partial map of a policy for all classes leaves as they are."""
    for item in spec.label_maps:
        if class_names is None:
            yield f"{item}: windows of other classes, if there are any, are left as they are"
        elif others := [name for name in class_names if name not in item.mapping]:
            yield f"{item}: windows of {', '.join(others)} are left as they are"


def _idle_maps(spec: PolicySpec) -> Iterator[str]:
    """Yield maps in the policy of a class that no window of it can have when it gets there."""
    for row in spec.rows:
        idle: dict[str, bool] = {}
        for subpolicy in spec.policy[row]:
            reachable = {row}
            for stage in subpolicy.stages:
                after = [class_after(entry, name) for entry in stage for name in reachable]
                for entry in stage:
                    unsuited = all(class_after(entry, name) is None for name in reachable)
                    idle[entry.choice] = idle.get(entry.choice, True) and unsuited
                reachable.update(name for name in after if name is not None)
        for choice in (choice for choice, is_idle in idle.items() if is_idle):
            yield f"{choice} changes no windows of {row}: its label map does not name that class"


def _drift(spec: PolicySpec) -> Iterator[str]:
    """Yield a sentence if classes become more or less frequent."""
    frequency = trace_operations(spec).label_frequency * len(spec.rows)
    changes = [
        f"{value - 1:+.0%} {row}".replace("-", "−", 1)
        for row, value in zip(spec.rows, frequency.tolist(), strict=True)
        if abs(value - 1) >= NOTABLE_DRIFT
    ]
    if changes:
        yield (
            f"Label maps change how frequent classes are ({', '.join(changes)}, if they are "
            "equally frequent before); apply each equally often to all classes that it names"
        )
