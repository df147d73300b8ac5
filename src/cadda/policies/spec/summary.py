"""A policy in one table: how often each operation is used, and how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.policies.spec.model import PolicySpec

__all__ = ["PolicySummary", "summarise"]

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PolicySummary:
    """What a policy does with each operation, over all its subpolicies and stages.

    Every table has a row per class (one if the policy is for all) and a column per operation.

    Parameters
    ----------
    rows : tuple of str
        Classes, or ``("*",)``.
    operations : tuple of str
        Operations.
    applied : array
        Probability that the operation changes a window at least once.
    share : array
        How often a stage chooses it; each row has the sum 1.
    probability : array
        Mean probability of applying it once it is chosen; 0 where it never is.
    magnitude : array
        Mean magnitude when it is applied, 0 where it never is; NaN for an operation without one.
    """

    rows: tuple[str, ...]
    operations: tuple[str, ...]
    applied: Table
    share: Table
    probability: Table
    magnitude: Table


def summarise(spec: PolicySpec) -> PolicySummary:
    """Say in one table what a policy does.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    PolicySummary
        Means over subpolicies and stages, each by how often it is drawn.
    """
    names = spec.operation_names
    column = {name: i for i, name in enumerate(names)}
    chosen, applied, strength = np.zeros((3, len(spec.rows), len(names)))
    for row, class_name in enumerate(spec.rows):
        for subpolicy in spec.policy[class_name]:
            for stage in subpolicy.stages:
                mass = subpolicy.weight / sum(entry.weight for entry in stage)
                for entry in stage:
                    at = row, column[entry.operation]
                    chosen[at] += mass * entry.weight
                    applied[at] += mass * entry.weight * entry.probability
                    level = np.nan if entry.magnitude is None else entry.magnitude
                    strength[at] += mass * entry.weight * entry.probability * level
    return PolicySummary(
        rows=spec.rows,
        operations=names,
        applied=spec.operation_probabilities(),
        share=chosen / chosen.sum(1, keepdims=True),
        probability=np.divide(applied, chosen, out=np.zeros_like(chosen), where=chosen > 0),
        magnitude=np.divide(strength, applied, out=np.zeros_like(chosen), where=applied > 0),
    )
