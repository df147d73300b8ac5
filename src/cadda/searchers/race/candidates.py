"""Candidates of a race, from the simplest to the most complex."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from cadda._internal.limits import parse_json
from cadda.policies.spec.model import PolicySpec
from cadda.training.checkpoint import State

__all__ = ["DUPLICATES", "NONE", "Candidate", "Level", "level_of"]


class Level(IntEnum):
    """How complex a candidate is; of equally good candidates, the simplest is preferred."""

    NONE = 0
    DUPLICATES = 1
    SINGLE = 2
    CHAIN = 3
    CLASSWISE = 4


def level_of(policy: PolicySpec) -> Level:
    """Return how complex a policy is."""
    if policy.is_none:
        return Level.NONE
    if policy.is_classwise:
        return Level.CLASSWISE
    return Level.SINGLE if len(policy.entries) == 1 else Level.CHAIN


@dataclass(frozen=True)
class Candidate:
    """A policy in a race."""

    name: str
    policy: PolicySpec
    level: Level

    @property
    def complexity(self) -> tuple[int, int]:
        """Key for sorting: the level, then the number of entries of the policy."""
        return self.level, len(self.policy.entries)

    @property
    def repeats(self) -> int:
        """How often each training window is used per epoch."""
        return 2 if self.level == Level.DUPLICATES else 1

    def state_dict(self) -> State:
        """Return what `from_state` makes the same candidate of."""
        return {"name": self.name, "policy": self.policy.to_json(), "level": int(self.level)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Make the candidate that `state_dict` was called of."""
        policy = PolicySpec.from_dict(parse_json(state["policy"]), known=None)
        return cls(state["name"], policy, Level(state["level"]))


NONE = Candidate("none", PolicySpec.none(), Level.NONE)
DUPLICATES = Candidate("every window twice", PolicySpec.none(), Level.DUPLICATES)
"""More steps without augmentation: a policy must gain more than that."""
