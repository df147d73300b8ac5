"""How often each operation transforms a window of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec, Subpolicy

__all__ = ["probability_table"]


def probability_table(spec: PolicySpec) -> NDArray[np.float64]:
    """Give the probability that an operation transforms a window at least once.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    array of shape (n_classes, n_operations)
        Rows as in `PolicySpec.rows`, columns as in `PolicySpec.operation_names`.
    """
    column = {name: i for i, name in enumerate(spec.operation_names)}
    table = np.zeros((len(spec.rows), len(column)))
    for row, name in enumerate(spec.rows):
        total = sum(subpolicy.weight for subpolicy in spec.policy[name])
        for subpolicy in spec.policy[name]:
            table[row] += subpolicy.weight / total * _at_least_once(subpolicy, column)
    return table


def _at_least_once(subpolicy: Subpolicy, column: dict[str, int]) -> NDArray[np.float64]:
    spared = np.ones(len(column))
    for stage in subpolicy.stages:
        total = sum(entry.weight for entry in stage)
        applied = np.zeros(len(column))
        for entry in stage:
            applied[column[entry.operation]] += entry.weight / total * entry.probability
        spared *= 1 - applied
    return 1 - spared
