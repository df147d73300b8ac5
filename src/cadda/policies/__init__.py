"""What to apply: policies as data, policies that run, and policies that learn."""

from __future__ import annotations

from cadda.policies.policy import Policy
from cadda.policies.relaxed.base import RelaxedPolicy
from cadda.policies.relaxed.policies import EnumeratedPolicy, MixturePolicy, StagedPolicy
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "EnumeratedPolicy",
    "MixturePolicy",
    "Policy",
    "PolicySpec",
    "RelaxedPolicy",
    "StagedPolicy",
]
