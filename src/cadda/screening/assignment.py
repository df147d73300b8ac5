"""Which training window meets which operation and which validation windows in a screening."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from cadda._internal.random import Seeds

__all__ = ["assign_trials", "split_into_parts"]


def assign_trials(
    y: Tensor, n_slots: int, *, n_rounds: int, n_windows: int, draws: int, seeds: Seeds
) -> tuple[Tensor, Tensor]:
    """Assign windows to rounds, and to each window what is tried on it.

    Returns indices of windows, shape (n_rounds, n_windows), with equally many of each class, and
    slots, shape (n_rounds, draws, n_windows). Within a class, all windows and all slots occur
    equally often, give or take one.
    """
    labels = torch.unique(y).tolist()
    per_class = max(1, n_windows // len(labels))
    fewest = math.ceil(n_slots / (draws * per_class))
    if n_rounds < fewest:
        raise ValueError(
            f"`n_rounds` must be at least {fewest} to try every operation and magnitude in every "
            f"class, got {n_rounds}."
        )
    windows, slots = [], []
    for label in labels:
        stream = seeds.stream("allotment", label=label)
        members = (y == label).nonzero().flatten()
        drawn = members[_draw_evenly(len(members), n_rounds * per_class, stream)]
        windows.append(drawn.view(n_rounds, per_class))
        drawn = _draw_evenly(n_slots, n_rounds * draws * per_class, stream)
        slots.append(drawn.view(n_rounds, draws, per_class))
    return torch.cat(windows, -1), torch.cat(slots, -1)


def split_into_parts(cluster: Tensor, y: Tensor, n_parts: int, generator: Generator) -> Tensor:
    """Split windows into parts of about the same size that share no cluster.

    Labels are spread evenly where each window is a cluster of its own. Returns the number of the
    part of each window.
    """
    kinds, number = torch.unique(cluster, return_inverse=True)
    label = torch.zeros_like(kinds).scatter_(0, number, y.to(kinds.dtype))
    order = torch.randperm(len(kinds), generator=generator)
    order = order[label[order].argsort(stable=True)]
    part = torch.empty_like(order)
    part[order] = torch.arange(len(kinds)) % n_parts
    return part[number]


def _draw_evenly(n_options: int, n_wanted: int, generator: Generator) -> Tensor:
    """Draw without replacement, again and again."""
    n_turns = math.ceil(n_wanted / n_options)
    turns = [torch.randperm(n_options, generator=generator) for _ in range(n_turns)]
    return torch.cat(turns)[:n_wanted]
