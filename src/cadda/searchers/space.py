"""How many policies there are to choose from."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["PolicySpace"]


@dataclass(frozen=True)
class PolicySpace:
    """The policies that a search chooses from, with p and µ in steps.

    Parameters
    ----------
    n_operations : int
        Number N_O of operations.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy.
    n_classes : int
        Number of classes that have a policy of their own; 1 if one policy is for all.
    n_probabilities : int
        Number N_p of values of p.
    n_magnitudes : int
        Number N_µ of values of µ.
    """

    n_operations: int
    n_subpolicies: int = 5
    n_stages: int = 2
    n_classes: int = 1
    n_probabilities: int = 10
    n_magnitudes: int = 10

    def size(self) -> int:
        """Count the policies.

        Returns
        -------
        int
            (N_p · N_µ · N_O)^(L · K · classes), exactly.
        """
        per_stage = self.n_probabilities * self.n_magnitudes * self.n_operations
        n_stages: int = self.n_subpolicies * self.n_stages * self.n_classes
        size: int = per_stage**n_stages
        return size

    @property
    def log10_size(self) -> float:
        """The same as a power of ten."""
        return math.log10(self.size())
