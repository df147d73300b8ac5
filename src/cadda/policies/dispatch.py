"""Windows of one batch are sent to the operations that they drew, each operation called once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from cadda.operations.base import Draw
from cadda.operations.pool import OperationPool

__all__ = [
    "Granularity",
    "Group",
    "check_granularity",
    "draw_groups",
    "per_window",
    "transform_groups",
]

Granularity = Literal["window", "batch"]


@dataclass(frozen=True)
class Group:
    """The windows of a batch that drew the same operation.

    Parameters
    ----------
    operation : int
        Number of the operation in the pool.
    windows : Tensor
        Indices of the windows.
    draw : dict of str to Tensor
        Random numbers of the operation for these windows.
    """

    operation: int
    windows: Tensor
    draw: Draw


def check_granularity(granularity: Granularity) -> Granularity:
    """Raise `ValueError` for an unknown granularity."""
    if granularity not in ("window", "batch"):
        raise ValueError(f"`granularity` must be 'window' or 'batch', got {granularity!r}.")
    return granularity


def draw_groups(
    pool: OperationPool, x: Tensor, choice: Tensor, generator: Generator | None
) -> tuple[Group, ...]:
    """Group windows by operation and draw the random numbers of each operation.

    ``choice`` has the index of the operation of each window, shape (n_windows,); ``len(pool)``
    leaves a window unchanged. The groups are not empty, and in the order of the pool.
    """
    sizes = torch.bincount(choice, minlength=len(pool) + 1).tolist()
    members = torch.split(choice.argsort(stable=True), sizes)
    return tuple(
        Group(i, members[i], pool[i].sample(x[: sizes[i]], generator))
        for i in range(len(pool))
        if sizes[i]
    )


def transform_groups(
    pool: OperationPool, x: Tensor, groups: tuple[Group, ...], magnitude: Tensor
) -> Tensor:
    """Apply to each window the operation of its group; windows in no group are copied.

    ``magnitude`` has shape (n_windows,).
    """
    result = x.clone()
    for group in groups:
        changed = pool[group.operation].apply(
            x.index_select(0, group.windows),
            magnitude.index_select(0, group.windows),
            group.draw,
        )
        result.index_copy_(0, group.windows, changed)
    return result


def per_window(values: Tensor, x: Tensor) -> Tensor:
    """Reshape values, (n_windows,), to (n_windows, 1, …) with as many axes as ``x``."""
    return values.view(-1, *(1,) * (x.ndim - 1))
