"""A policy as tables that events carry."""

from __future__ import annotations

from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.tables import PolicySummary, summarise
from cadda.searchers.events import Table

__all__ = ["tables_of"]

NAMES = ("applied", "share", "probability", "magnitude")


def tables_of(policy: PolicySpec) -> tuple[PolicySummary, dict[str, Table]]:
    """Say in tables what a policy does.

    Parameters
    ----------
    policy : PolicySpec
        The policy.

    Returns
    -------
    summary : PolicySummary
        As arrays.
    fields : dict of str to Table
        The same as fields of an event.
    """
    summary = summarise(policy)
    fields = {name: tuple(map(tuple, getattr(summary, name).tolist())) for name in NAMES}
    return summary, fields
