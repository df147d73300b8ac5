"""What a search other than a race concludes, in words."""

from __future__ import annotations

from cadda._internal.text import plural
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import AnyPolicy
from cadda.training import Fitted

__all__ = ["describe_search"]

MAX_NAMED = 4
"""Operations that are named."""


def describe_search(policy: AnyPolicy, fitted: Fitted | None, baseline: Fitted | None) -> str:
    """Return what was proposed, that its gain on new subjects is unknown, and what is known.

    A search by gradients or by trials has no full training runs on subjects that had no part in
    the choice; the retrained models are one training run each.
    """
    spec = policy.last if isinstance(policy, PolicySchedule) else policy
    method = spec.provenance.method or "the search"
    if spec.is_none and spec is policy:
        return f"{method} proposes no augmentation."
    found = (
        f"{method} proposes {_describe(policy, spec)}; its gain on new subjects was not measured"
    )
    if fitted is None or baseline is None:
        return f"{found}."
    ours, plain = (each.best.valid_balanced_accuracy for each in (fitted, baseline))
    return (
        f"{found}. On the validation subjects, balanced accuracy is {ours:.3f} with it and "
        f"{plain:.3f} without augmentation ({ours - plain:+.3f}), in one training run each."
    )


def _describe(policy: AnyPolicy, spec: PolicySpec) -> str:
    """Return such as ``"a policy of sign_flip and time_mask"``."""
    names = spec.operations_used
    used = plural(len(names), "operation")
    if len(names) <= MAX_NAMED:
        used = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return f"a policy of {used}" if spec is policy else f"a schedule that ends with {used}"
