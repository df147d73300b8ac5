"""What to apply: policies as data, policies that run, and policies that learn."""

from __future__ import annotations

from cadda.policies.enumerated import EnumeratedPolicy
from cadda.policies.policy import Policy
from cadda.policies.relaxed import RelaxedPolicy
from cadda.policies.spec import PolicySpec
from cadda.policies.staged import MixturePolicy, StagedPolicy

__all__ = [
    "EnumeratedPolicy",
    "MixturePolicy",
    "Policy",
    "PolicySpec",
    "RelaxedPolicy",
    "StagedPolicy",
]
