"""The policy of a class as arrays: a mixture of subpolicies, each a product of stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cadda.operations.label_maps import NOT_MAPPED
from cadda.policies.spec.walk import Labels, Table

__all__ = ["Mixture", "Outcomes"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Subpolicies that are drawn by weight.

    Parameters
    ----------
    weight : array of shape (n_subpolicies,)
        Probability of drawing each subpolicy.
    applied : array of shape (n_subpolicies, n_stages, 1 + n_choices)
        Probability that a stage applies each choice; the first one is to apply nothing.
    magnitudes : array of shape (n_subpolicies, n_stages, 1 + n_choices, 2)
        Smallest and largest magnitude; NaN for a choice without magnitude.
    """

    weight: Table
    applied: Table
    magnitudes: Table

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Whether each subpolicy applies nothing at all."""
        return np.logical_not(self.applied[..., 1:].any((1, 2)))

    @property
    def size(self) -> tuple[int, int]:
        """Number of entries and of subpolicies of the policy that this is written as."""
        if self.is_empty.all():
            return 0, 0
        # One that applies nothing is written with an operation that is never applied.
        n_entries = np.count_nonzero(self.applied[..., 1:]) + np.count_nonzero(self.is_empty)
        return int(n_entries), len(self.weight)

    def cells(self) -> Table:
        """Compute the probability of each choice in each stage, (n_subpolicies, n_cells)."""
        return products(self.applied)

    def distribution(self) -> Table:
        """Compute the probability of each cell over all subpolicies, (n_cells,)."""
        distribution: Table = self.weight @ self.cells()
        return distribution

    def compact(self) -> Mixture:
        """Put stages that apply nothing last, and make one of all subpolicies that apply nothing.

        Subpolicies of weight 0 are left out. What happens to windows stays the same.
        """
        drawn = self.weight > 0
        weight, applied = self.weight[drawn], self.applied[drawn]
        order = np.argsort(~applied[..., 1:].any(-1), axis=1, kind="stable")
        subpolicy = np.arange(len(weight))[:, None]
        applied, magnitudes = applied[subpolicy, order], self.magnitudes[drawn][subpolicy, order]
        empty = np.flatnonzero(Mixture(weight, applied, magnitudes).is_empty)
        weight[empty[:1]] = weight[empty].sum()
        return Mixture(
            np.delete(weight, empty[1:]),
            np.delete(applied, empty[1:], 0),
            np.delete(magnitudes, empty[1:], 0),
        )

    def merged(self, i: int, j: int) -> Mixture:
        """Replace two subpolicies by one whose stages are their means; the last is the new one."""
        both = [i, j]
        mass = self.weight[both, None, None] * self.applied[both]
        total, weight = mass.sum(0), self.weight[both].sum()
        strength = (mass[..., None] * self.magnitudes[both]).sum(0)
        mean = np.divide(
            strength, total[..., None], out=np.zeros_like(strength), where=total[..., None] > 0
        )
        return Mixture(
            np.append(np.delete(self.weight, both), weight),
            np.append(np.delete(self.applied, both, 0), (total / weight)[None], 0),
            np.append(np.delete(self.magnitudes, both, 0), mean[None], 0),
        )

    def merge_costs(self, i: int) -> Table:
        """Compute how far the distribution of cells moves if a subpolicy is merged with each."""
        weight = self.weight[i] + self.weight
        mean = self.weight[i] * self.applied[i] + self.weight[:, None, None] * self.applied
        cells = self.cells()
        before = self.weight[i] * cells[i] + self.weight[:, None] * cells
        after = weight[:, None] * products(mean / weight[:, None, None])
        costs: Table = 0.5 * np.abs(before - after).sum(1)
        return costs

    def without(self, i: int) -> Mixture:
        """Leave out a subpolicy; the others are drawn more often."""
        weight = np.delete(self.weight, i)
        applied, magnitudes = (np.delete(x, i, 0) for x in (self.applied, self.magnitudes))
        return Mixture(weight / weight.sum(), applied, magnitudes)

    def drop(self, dropped: NDArray[np.bool_], *, renormalise: bool) -> Mixture:
        """Leave out choices of stages, (n_subpolicies, n_stages, n_choices).

        Either nothing is applied in their place, or other choices of the stage, more often.
        """
        before = self.applied[..., 1:]
        kept = np.where(dropped, 0.0, before)
        if renormalise:
            old, new = before.sum(-1, keepdims=True), kept.sum(-1, keepdims=True)
            kept = kept * np.divide(old, new, out=np.ones_like(old), where=new > 0)
        nothing = np.maximum(1 - kept.sum(-1, keepdims=True), 0)
        return replace(self, applied=np.concatenate([nothing, kept], -1))


def products(applied: Table) -> Table:
    """Compute the probability of each combination of choices, one per stage."""
    cells = applied[:, 0]
    for stage in np.moveaxis(applied, 1, 0)[1:]:
        cells = (cells[:, :, None] * stage[:, None]).reshape(len(cells), -1)
    return cells


class Outcomes:
    """Which cells of a mixture are the same to a window: equal sequences of applied choices.

    ``targets`` has the label after each choice by label before it, `NOT_MAPPED` where the choice
    does not suit the label; the first choice is to apply nothing. ``labels`` are those before the
    first stage that count, each for itself.
    """

    def __init__(self, targets: Labels, labels: Sequence[int], n_stages: int) -> None:
        n_choices = len(targets)
        stages = np.indices((n_choices,) * n_stages).reshape(n_stages, -1)
        self._groups = []
        for first in labels:
            label = np.full(stages.shape[1], first)
            sequence = np.zeros_like(label)
            for choice in stages:
                target = targets[choice, label]
                happens = (choice > 0) & (target != NOT_MAPPED)
                sequence = np.where(happens, sequence * n_choices + choice, sequence)
                label = np.where(happens, target, label)
            order = np.argsort(sequence, kind="stable")
            starts = np.flatnonzero(np.diff(sequence[order], prepend=-1))
            self._groups.append((order, starts))

    def distance(self, first: Table, second: Table) -> float:
        """Compute the total variation distance of two distributions, the largest over labels."""
        change = first - second
        return max(
            0.5 * float(np.abs(np.add.reduceat(change[order], starts)).sum())
            for order, starts in self._groups
        )
