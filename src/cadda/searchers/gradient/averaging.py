"""The mean of a policy over the last epochs of a search, and how much it still moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import fmean

from cadda.policies.relaxed.values import PolicyValues, mean_values
from cadda.policies.spec.compare import compare_policies
from cadda.policies.spec.entries import Subpolicy
from cadda.policies.spec.model import PolicySpec
from cadda.training.checkpoint import State

__all__ = ["PolicyTrail", "mean_policy", "mean_shared", "shared_mass"]

AVERAGED = 1 / 3
"""Part of the epochs after the warm-up, the last ones, that the policy of a search is the mean of.

Steps of Adam have the same length at the end of a search as at its start, so a policy never comes
to rest: its last value is one draw of a walk around what it has learned. A mean over more epochs
is less noisy, but includes more of the way there.
"""


class PolicyTrail:
    """Policies after the last epochs of a search, as many as its mean needs."""

    def __init__(self) -> None:
        self.n_epochs = 0
        self._last: list[PolicyValues] = []

    @property
    def n_averaged(self) -> int:
        """Number of epochs that the mean is over."""
        return math.ceil(AVERAGED * self.n_epochs)

    def add(self, values: PolicyValues) -> None:
        """Add the policy after another epoch."""
        self.n_epochs += 1
        self._last = [*self._last, values][-self.n_averaged - 1 :]

    def mean(self) -> PolicyValues | None:
        """Return the mean policy; None before the first epoch."""
        return mean_values(self._last[-self.n_averaged :]) if self._last else None

    def earlier(self) -> PolicyValues | None:
        """Return the policy before the epochs that are averaged; None if there is none."""
        return self._last[0] if len(self._last) > self.n_averaged else None

    def state_dict(self) -> State:
        """Return what `load_state_dict` needs in another process."""
        return {"n_epochs": self.n_epochs, "last": [asdict(values) for values in self._last]}

    def load_state_dict(self, state: State) -> None:
        """Restore a saved state."""
        self.n_epochs = state["n_epochs"]
        self._last = [PolicyValues(**values) for values in state["last"]]


def mean_policy(policies: Sequence[PolicySpec]) -> PolicySpec:
    """Return the policy that gives each window to one of several policies, equally often."""
    first = policies[0]
    if len(policies) == 1:
        return first
    rows = {row: tuple(_equally(policies, row)) for row in first.rows}
    return first.model_copy(update={"policy": rows})


def _equally(policies: Sequence[PolicySpec], row: str) -> list[Subpolicy]:
    result = []
    for policy in policies:
        total = sum(subpolicy.weight for subpolicy in policy.policy[row])
        result += [
            subpolicy.model_copy(update={"weight": subpolicy.weight / total})
            for subpolicy in policy.policy[row]
        ]
    return result


def shared_mass(first: PolicySpec, second: PolicySpec) -> float | None:
    """Compute the share of windows that two policies treat alike, the smallest over classes.

    It is what the distributions of the sequence of operations that changes a window have in
    common; magnitudes do not count. None if there are too many sequences to enumerate.
    """
    distances = compare_policies(first, second).distance.values()
    known = [distance for distance in distances if distance is not None]
    return 1 - max(known) if len(known) == len(distances) else None


def mean_shared(pairs: Iterable[tuple[PolicySpec, PolicySpec]]) -> float | None:
    """Compute the mean shared mass of pairs of policies; None if it is unknown."""
    shared = [shared_mass(first, second) for first, second in pairs]
    known = [share for share in shared if share is not None]
    return fmean(known) if known and len(known) == len(shared) else None
