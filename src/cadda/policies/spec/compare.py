"""What changed from one policy to another."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from cadda._internal.frames import make_frame
from cadda.operations.base import Settings
from cadda.operations.label_maps import plain_name
from cadda.policies.spec.entries import ALL_CLASSES, Subpolicy
from cadda.policies.spec.label_flow import class_after
from cadda.policies.spec.summary import OperationUse, describe_magnitude, mean_uses

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["OperationChange", "PolicyDifference", "compare_policies", "total_variation"]

MAX_SEQUENCES = 100_000

COLUMNS = (
    *("class_name", "operation", "probability_before", "probability_after"),
    *("magnitude_before", "magnitude_after"),
)


@dataclass(frozen=True)
class OperationChange:
    """How the use of one operation on the windows of one class changed.

    Parameters
    ----------
    row : str
        Class, or ``"*"`` for all classes.
    operation : str
        Name of the operation, with its label map if it has one.
    probability : tuple of float
        Probability that a window is transformed at least once, before and after.
    magnitude : tuple of (float | None)
        Mean magnitude where the operation is applied, before and after; None if it is not.
    magnitudes : tuple of (tuple of float | None)
        The same for the smallest and the largest magnitude; equal if magnitudes are not random.
    settings : tuple of (mapping | None)
        Settings of the operation, before and after; None for the default ones.
    """

    row: str
    operation: str
    probability: tuple[float, float]
    magnitude: tuple[float | None, float | None]
    magnitudes: tuple[tuple[float, float] | None, tuple[float, float] | None]
    settings: tuple[Settings | None, Settings | None] = (None, None)

    @property
    def in_units(self) -> tuple[str, str]:
        """The two magnitudes in physical units, such as ``"shift < 2 Hz"``."""
        before, after = (
            describe_magnitude(self.operation, ends, settings)
            for ends, settings in zip(self.magnitudes, self.settings, strict=True)
        )
        return before, after

    @property
    def is_change(self) -> bool:
        """Whether probability or magnitude differ."""
        return (
            abs(self.probability[1] - self.probability[0]) > 1e-9
            or self.in_units[0] != self.in_units[1]
        )


@dataclass(frozen=True)
class PolicyDifference:
    """Difference of two policies, class by class.

    Parameters
    ----------
    changes : tuple of OperationChange
        All operations that either policy uses, the largest change of probability first.
    distance : dict of str to (float | None)
        For each class the total variation distance, in [0, 1], between the distributions of the
        sequence of operations that transforms a window; magnitudes do not count. None if a policy
        has too many sequences to enumerate.
    """

    changes: tuple[OperationChange, ...]
    distance: dict[str, float | None]

    def to_frame(self) -> Any:
        """Return the changes as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per class and operation: ``class_name``, ``operation``, then probability and
            mean magnitude before and after.
        """
        rows = (
            (each.row, each.operation, *each.probability, *each.magnitude) for each in self.changes
        )
        return make_frame((dict(zip(COLUMNS, row, strict=True)) for row in rows), COLUMNS)


def compare_policies(first: PolicySpec, second: PolicySpec) -> PolicyDifference:
    """Compare two policies, class by class and operation by operation.

    A policy for all classes is compared with each class of a class-wise policy.

    Parameters
    ----------
    first, second : PolicySpec
        The policies, before and after.

    Returns
    -------
    PolicyDifference
        Changes of probability and magnitude, and the total variation distance of each class.

    Examples
    --------
    >>> from cadda import PolicySpec
    >>> before = PolicySpec.from_text("sign_flip p=0.5")
    >>> after = PolicySpec.from_text("sign_flip p=0.8 > time_mask p=0.2 m=0.5")
    >>> difference = compare_policies(before, after)
    >>> difference.changes[0].operation, difference.changes[0].probability
    ('sign_flip', (0.5, 0.8))
    >>> round(difference.distance["*"], 3)
    0.34
    """
    classes = {tuple(sorted(spec.rows)) for spec in (first, second) if spec.is_classwise}
    if len(classes) > 1:
        raise ValueError(
            "`first` and `second` must have the same classes, got "
            f"{list(first.rows)} and {list(second.rows)}."
        )
    rows = first.rows if first.is_classwise else second.rows
    changes: list[OperationChange] = []
    distance: dict[str, float | None] = {}
    for row in rows:
        before, after = _subpolicies(first, row), _subpolicies(second, row)
        uses = mean_uses(before, row), mean_uses(after, row)
        for name in dict.fromkeys([*uses[0], *uses[1]]):
            old, new = (use.get(name, OperationUse()) for use in uses)
            changes.append(
                OperationChange(
                    row,
                    name,
                    (old.probability, new.probability),
                    (old.magnitude, new.magnitude),
                    (old.magnitudes, new.magnitudes),
                    (
                        first.operations.get(plain_name(name)),
                        second.operations.get(plain_name(name)),
                    ),
                )
            )
        distance[row] = total_variation(before, after, row)
    changes.sort(key=lambda change: -abs(change.probability[1] - change.probability[0]))
    return PolicyDifference(tuple(changes), distance)


def _subpolicies(spec: PolicySpec, row: str) -> tuple[Subpolicy, ...]:
    return spec.policy[row if spec.is_classwise else ALL_CLASSES]


def total_variation(
    first: tuple[Subpolicy, ...], second: tuple[Subpolicy, ...], class_name: str
) -> float | None:
    """Compute the total variation distance of the sequences of operations on windows of a class.

    For all classes, operations with label maps are for every window; None if there are too many
    sequences.
    """
    before, after = _sequences(first, class_name), _sequences(second, class_name)
    if before is None or after is None:
        return None
    # Not a set of keys, whose order changes from run to run, and the rounding with it.
    return 0.5 * sum(abs(before.get(key, 0) - after.get(key, 0)) for key in before | after)


Sequence: TypeAlias = tuple[tuple[str, ...], str]
"""Operations that transformed a window, and the class that it has then."""


def _sequences(subpolicies: tuple[Subpolicy, ...], row: str) -> dict[Sequence, float] | None:
    """Return the probability of each sequence of operations; None if there are too many."""
    total = sum(subpolicy.weight for subpolicy in subpolicies)
    if not subpolicies:
        return {((), row): 1.0}
    result: dict[Sequence, float] = defaultdict(float)
    for subpolicy in subpolicies:
        sequences: dict[Sequence, float] = {((), row): subpolicy.weight / total}
        for stage in subpolicy.stages:
            weights = sum(entry.weight for entry in stage)
            longer: dict[Sequence, float] = defaultdict(float)
            for (names, class_name), probability in sequences.items():
                for entry in stage:
                    drawn = probability * entry.weight / weights
                    target = class_after(entry, class_name)
                    applied = 0.0 if target is None else entry.probability
                    longer[(*names, entry.choice), target or class_name] += drawn * applied
                    longer[names, class_name] += drawn * (1 - applied)
            sequences = longer
            if len(sequences) > MAX_SEQUENCES:
                return None
        for sequence, probability in sequences.items():
            result[sequence] += probability
    return result
