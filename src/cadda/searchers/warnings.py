"""What a user should know about a search that would otherwise go unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cadda.policies.spec.tables import PolicySummary, class_revealing_operations
from cadda.searchers.events import SearchStep

__all__ = ["hints_of", "idle_workers", "only_warmup", "rare_classes"]

EDGE = 0.03
"""How near to 0 or 1 a magnitude is at its edge."""

LEADS = 1.5
"""How much more often than by chance an operation is chosen that leads."""

OFTEN_ABSENT = 0.3
"""Share of batches without a class that is worth a word."""

NOTHING = 1e-7
"""Rewards smaller than this, with losses of about 1, are rounding errors."""


def rare_classes(y: Tensor, class_names: tuple[str, ...], batch_size: int) -> tuple[str, ...]:
    """Name classes that many batches lack, whose policy learns slowly.

    Parameters
    ----------
    y : Tensor
        Labels of the training windows.
    class_names : tuple of str
        Names of the classes.
    batch_size : int
        Windows per step.

    Returns
    -------
    tuple of str
        One sentence for each such class.
    """
    share = torch.bincount(y, minlength=len(class_names)) / len(y)
    absent = (1 - share) ** batch_size
    return tuple(
        f"{name} is absent from {missing:.0%} of the batches, so its policy learns slowly; "
        "take a larger batch_size, or leave the class out (--min-windows, --classes)"
        for name, missing in zip(class_names, absent.tolist(), strict=True)
        if missing > OFTEN_ABSENT
    )


def only_warmup(n_epochs: int, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Say if a search ends before its policy begins to move.

    Parameters
    ----------
    n_epochs : int
        Epochs of the search.
    settings : mapping of str to object
        Settings of the method.

    Returns
    -------
    tuple of str
        One sentence, or none.
    """
    n_warmup = settings.get("warmup_epochs", 0)
    if n_epochs > n_warmup:
        return ()
    return (
        f"the policy begins to move after {n_warmup} epochs and the search ends after {n_epochs}, "
        "so it comes out as it went in; take a larger budget, or a smaller warmup_epochs",
    )


def idle_workers(n_workers: int, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Say if there are more workers than the search has work for.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    settings : mapping of str to object
        Settings of the method.

    Returns
    -------
    tuple of str
        One sentence, or none.
    """
    name = "trials_at_once" if "trials_at_once" in settings else "n_members"
    if n_workers <= settings[name]:
        return ()
    return (
        f"{n_workers} workers, but `{name}` is {settings[name]}, so that some have nothing to do; "
        f"take {name}={n_workers}",
    )


def hints_of(table: PolicySummary, steps: list[SearchStep]) -> tuple[str, ...]:
    """Say what is odd about an epoch.

    Parameters
    ----------
    table : PolicySummary
        The policy after it.
    steps : list of SearchStep
        What happened in it.

    Returns
    -------
    tuple of str
        One sentence each; most often none.
    """
    return (*_at_edge(table), *class_revealing_operations(table), *_without_effect(steps))


def _at_edge(table: PolicySummary) -> list[str]:
    """Name operations that are chosen often and whose magnitude would like to go further."""
    often = table.share > LEADS / len(table.operations)
    hints = []
    for row, column in np.argwhere(often & (table.magnitude > 1 - EDGE)):
        where = "" if table.rows[row] == "*" else f" for {table.rows[row]}"
        hints.append(f"{table.operations[column]}{where} is at its largest magnitude")
    return hints


def _without_effect(steps: list[SearchStep]) -> list[str]:
    rewards = [abs(one.reward) for one in steps if one.reward is not None]
    if not rewards or max(rewards) > NOTHING:
        return []
    return ["no operation changes what the model learns"]
