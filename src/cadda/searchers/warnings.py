"""Checks before a search, and warnings about problems that would otherwise go unnoticed."""

from __future__ import annotations

import torch
from torch import Tensor

from cadda.exceptions import ModelError
from cadda.policies.spec.leakage import trace_operations
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import (
    PolicySummary,
    class_revealing_operations,
    operations_at_limit,
)
from cadda.searchers.events import SearchStep
from cadda.training.problem import Problem
from cadda.training.step import compute_logits

__all__ = [
    "cap_warnings",
    "check_pool",
    "check_problem",
    "epoch_warnings",
    "idle_workers",
    "only_warmup",
    "rare_classes",
]

MAX_ABSENT_SHARE = 0.3
"""Largest share of batches without a class that needs no warning."""

MIN_CHANGE = 0.005
"""Smallest share of windows less that is worth a sentence."""

ROUNDING_ERROR = 1e-7
"""Smaller rewards, with losses of about 1, are rounding errors."""


def check_problem(problem: Problem, *, takes_turns: bool = False) -> None:
    """Raise if a method cannot search on a problem; its subjects may take turns to validate."""
    labels = {"train": problem.train.y, "valid": problem.valid.y}
    if takes_turns:
        labels = {"train` and `valid": torch.cat(list(labels.values()))}
    for name, y in labels.items():
        counts = torch.bincount(y, minlength=problem.n_classes).tolist()
        for class_name, count in zip(problem.class_names, counts, strict=True):
            if not count:
                raise ValueError(
                    f"`{name}` must have windows of every class, but has none of {class_name!r}; "
                    "leave the class out, or split the subjects with another seed."
                )
    n_windows = min(4, len(problem.train))
    model = problem.new_model(0).eval()
    x = problem.train.x[:n_windows].to(problem.device)
    logits = compute_logits(model, x, problem.n_classes, differentiable=True)
    if not bool(logits.isfinite().all()):
        raise ModelError("the model gives NaN or infinite logits before any training.")


def check_pool(problem: Problem) -> None:
    """Raise if there is nothing to choose from."""
    if len(problem.pool) < 2:
        raise ValueError(
            "`operations` must name at least two operations to choose from, got only "
            f"{', '.join(problem.pool.names)}."
        )


def rare_classes(y: Tensor, class_names: tuple[str, ...], batch_size: int) -> tuple[str, ...]:
    """Warn of classes that many batches lack, whose policies learn slowly."""
    share = torch.bincount(y, minlength=len(class_names)) / len(y)
    absent = (1 - share) ** batch_size
    return tuple(
        f"{name} is absent from {missing:.0%} of the batches, so its policy learns slowly; "
        "increase `batch_size`, or leave the class out with `min_windows` or `classes`"
        for name, missing in zip(class_names, absent.tolist(), strict=True)
        if missing > MAX_ABSENT_SHARE
    )


def only_warmup(n_epochs: int, warmup_epochs: int) -> tuple[str, ...]:
    """Warn if a search ends before its policy begins to change."""
    if n_epochs > warmup_epochs:
        return ()
    return (
        f"the policy begins to change after {warmup_epochs} epochs and the search ends after "
        f"{n_epochs}, so the policy will not change; increase `budget`, or decrease "
        "`warmup_epochs`",
    )


def idle_workers(
    n_workers: int, name: str, n_parallel: int, *, n_each: int = 1
) -> tuple[str, ...]:
    """Warn if there are more workers than parallel trials, which the setting `name` limits.

    Each worker trains ``n_each`` of the trials together.
    """
    n_busy = max(1, n_parallel // n_each)
    if n_workers <= n_busy:
        return ()
    return (
        f"{n_workers} workers, but `{name}`={n_parallel} keeps only {n_busy} of them busy; "
        f"set {name}={n_workers * n_each}",
    )


def epoch_warnings(table: PolicySummary, steps: list[SearchStep]) -> tuple[str, ...]:
    """Warn of what is odd about the steps of an epoch and the policy after it."""
    return (
        *operations_at_limit(table),
        *class_revealing_operations(table.traces),
        *_without_effect(steps),
    )


def cap_warnings(learned: PolicySpec, capped: PolicySpec) -> tuple[str, ...]:
    """Return how much was changed of a policy that told too much about the class."""
    if learned is capped:
        return ()
    before, after = trace_operations(learned), trace_operations(capped)
    sentences = []
    for name, bits in before.leak.items():
        old, new = before.share_of(name), after.share_of(name)
        most = int((old - new).argmax())
        if old[most] - new[most] >= MIN_CHANGE:
            sentences.append(
                f"{name} would tell {bits:.2f} bits about the class, so it changes "
                f"{new[most]:.0%} instead of {old[most]:.0%} of the windows of "
                f"{before.class_names[most]}; set `max_leak` to allow more"
            )
    return tuple(sentences)


def _without_effect(steps: list[SearchStep]) -> list[str]:
    rewards = [abs(step.reward) for step in steps if step.reward is not None]
    if not rewards or max(rewards) > ROUNDING_ERROR:
        return []
    return ["no operation changes what the model learns"]
