"""Label and operations of windows on their way through a policy, with exact probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda.operations.label_maps import NOT_MAPPED, target_labels
from cadda.policies.spec.entries import ALL_CLASSES

if TYPE_CHECKING:
    from cadda.policies.spec.entries import StageEntry, Subpolicy

__all__ = ["Table", "Walk", "applied_at_least_once"]

Table: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Walk:
    """The policy of a class as arrays.

    ``chance`` is the probability that a stage applies an operation with a label map, (n_stages,
    n_subpolicies, n_operations, n_maps); ``weight`` that of drawing a subpolicy. Of ``maps``, one
    is None if an operation keeps every class.
    """

    weight: Table
    chance: Table
    maps: tuple[dict[str, str] | None, ...]

    @classmethod
    def of(
        cls,
        subpolicies: Sequence[Subpolicy],
        operations: Sequence[str],
        name_of: Callable[[StageEntry], str],
    ) -> Walk:
        """Make the arrays; ``name_of`` an entry is the operation that it counts as."""
        column = {name: n for n, name in enumerate(operations)}
        entries = _entries(subpolicies)
        maps = {str(entry.label_map): entry.label_map for entry in entries} or {"": None}
        kind = {key: n for n, key in enumerate(maps)}
        n_stages = max((len(subpolicy.stages) for subpolicy in subpolicies), default=0)
        # Without subpolicies, there is one without stages.
        chance = np.zeros((n_stages, max(1, len(subpolicies)), len(column), len(kind)))
        for i, subpolicy in enumerate(subpolicies):
            for k, stage in enumerate(subpolicy.stages):
                total = sum(entry.weight for entry in stage)
                for entry in stage:
                    place = k, i, column[name_of(entry)], kind[str(entry.label_map)]
                    chance[place] = entry.weight / total * entry.probability
        weight = np.array([subpolicy.weight for subpolicy in subpolicies] or [1.0])
        return cls(weight / weight.sum(), chance, tuple(maps.values()))

    def usage(self, scale: float, columns: slice) -> Table:
        """Compute how often operations are used, if each is for every class."""
        chance = self.chance[:, :, columns].sum(-1) * scale
        result: Table = self.weight @ (1 - (1 - chance).prod(0))
        return result

    def paths(self, label: int, class_names: Sequence[str]) -> tuple[list[int], list[Labels]]:
        """Return the labels that windows of a class may get, its own first, and their targets.

        A target is the place among these labels after a label map.
        """
        every = np.arange(len(class_names))
        targets = [
            every if mapping is None else np.array(target_labels(mapping, class_names))
            for mapping in self.maps
        ]
        labels = [label]
        for old in labels:
            new = {int(target[old]) for target in targets} - {NOT_MAPPED, *labels}
            labels.extend(sorted(new))
        place = {old: new for new, old in enumerate(labels)}
        return labels, [
            np.array([place.get(int(target[old]), NOT_MAPPED) for old in labels])
            for target in targets
        ]

    def follow(
        self, scale: Table, shared: Table, columns: slice, targets: Sequence[Labels]
    ) -> Table:
        """Compute the probability of each label and of having been changed by an operation.

        ``targets`` has the label after each label map of those that windows of the class may get.
        The result has the shape (n_columns, n_labels, 2).
        """
        n_labels = len(targets[0])
        state = np.zeros((len(self.weight), len(shared), n_labels, 2))
        state[:, :, 0, 0], state[:, :, 0, 1] = 1 - shared, shared
        for chance in self.chance * scale[:, None]:
            state = _pass_stage(state, chance, chance[:, columns], targets)
        result: Table = np.tensordot(self.weight, state, 1)
        return result


def applied_at_least_once(subpolicies: Sequence[Subpolicy], class_name: str) -> dict[str, float]:
    """Compute how often each operation, with its label map, changes windows of a class.

    For all classes, an operation with a label map counts as for the classes that it names.
    """
    choices = tuple(dict.fromkeys(entry.choice for entry in _entries(subpolicies)))
    walk = Walk.of(subpolicies, choices, attrgetter("choice"))
    if class_name == ALL_CLASSES:
        applied = walk.usage(1.0, slice(None))
    else:
        mapped = (name for mapping in walk.maps for name in mapping or ())
        _, targets = walk.paths(0, list(dict.fromkeys((class_name, *mapped))))
        scale, shared = np.ones(len(choices)), np.zeros(len(choices))
        applied = walk.follow(scale, shared, slice(None), targets)[..., 1].sum(-1)
    return dict(zip(choices, applied.tolist(), strict=True))


def _entries(subpolicies: Sequence[Subpolicy]) -> list[StageEntry]:
    return [entry for subpolicy in subpolicies for stage in subpolicy.stages for entry in stage]


def _pass_stage(state: Table, chance: Table, own: Table, targets: Sequence[Labels]) -> Table:
    """Apply a stage to the distribution of labels and traces.

    Parameters
    ----------
    state : array of shape (n_subpolicies, n_columns, n_labels, 2)
        Distribution before the stage.
    chance : array of shape (n_subpolicies, n_operations, n_maps)
        Probability of applying each operation.
    own : array of shape (n_subpolicies, n_columns, n_maps)
        The same for the operations whose traces are followed.
    targets : sequence of array of shape (n_labels,)
        Label after each label map; `NOT_MAPPED` where the operation is not applied.

    Returns
    -------
    array of shape (n_subpolicies, n_columns, n_labels, 2)
        Distribution after the stage.
    """
    total = chance.sum(1)
    named = np.stack([target != NOT_MAPPED for target in targets])
    result: Table = state * (1 - total @ named)[:, None, :, None]
    for target, suits, used, traced in zip(
        targets, named, total.T, np.moveaxis(own, -1, 0), strict=True
    ):
        moved, new = state[:, :, suits], target[suits]
        result[:, :, new] += (used[:, None] - traced)[..., None, None] * moved
        result[:, :, new, 1] += traced[..., None] * moved.sum(-1)
    return result
