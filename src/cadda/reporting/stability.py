"""How far the result of a search can be relied on, in sentences."""

from __future__ import annotations

import numpy as np

from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import operations_at_limit, summarise
from cadda.reporting.records import SearchCurves

__all__ = ["limit_notes", "stability_notes"]

MIN_SHARED = 0.7
"""Policies that treat fewer windows alike than this share are different policies."""


def stability_notes(curves: SearchCurves | None) -> tuple[str, ...]:
    """Return what the policy of a search by gradients is, and how much it depends on chance."""
    if curves is not None and not curves.left_warmup:
        return (
            "The search ended in its warm-up, so the policy is the one that it started from; "
            "increase `budget`.",
        )
    if curves is None or not curves.n_averaged:
        return ()
    last = curves.policy_epoch
    first = last - curves.n_averaged + 1
    has_seeds = curves.agreement is not None
    if first < last:
        seeds = " and of all seeds" if has_seeds else ""
        notes = [f"The policy is the mean of the policies of epochs {first} to {last}{seeds}."]
    elif has_seeds:
        notes = [f"The policy is the mean of the policies of all seeds in epoch {last}."]
    else:
        notes = [f"The policy is that of epoch {last}."]
    shared = _shared_at(curves, last)
    if np.isfinite(shared):
        end = "."
        if shared < MIN_SHARED:
            end = ": it had not settled. Search with a larger `budget`, or with several seeds."
        notes.append(
            f"At epoch {last} it treated {shared:.0%} of the windows as at epoch {first - 1}{end}"
        )
    if curves.agreement is not None:
        end = "."
        if curves.agreement < MIN_SHARED:
            end = ": what was found depends on chance more than on the data."
        notes.append(f"The policies of two seeds treat {curves.agreement:.0%} alike{end}")
    return tuple(notes)


def _shared_at(curves: SearchCurves, epoch: int) -> float:
    """Return how much the policy of an epoch shares with an earlier one; NaN if unknown."""
    if curves.shared is None:
        return np.nan
    return float(curves.shared[curves.number == epoch][0])


def limit_notes(policy: PolicySpec) -> tuple[str, ...]:
    """Name the operations of a policy that are used often and at their largest magnitude."""
    return tuple(
        f"{sentence} in the policy found, where the search ends and not what the data ask for"
        for sentence in operations_at_limit(summarise(policy))
    )
