"""Who meets whom in a screening: training windows, operations and validation windows."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from cadda._internal.random import Seeds

__all__ = ["allot", "cut_into_parts"]


def allot(
    y: Tensor, n_slots: int, *, n_rounds: int, n_windows: int, draws: int, seeds: Seeds
) -> tuple[Tensor, Tensor]:
    """Deal windows and what is tried on them out to rounds.

    Parameters
    ----------
    y : Tensor
        Labels of the training windows.
    n_slots : int
        How many different things are tried.
    n_rounds : int
        Number of rounds.
    n_windows : int
        Windows in a round, about.
    draws : int
        Things that are tried on each of them.
    seeds : Seeds
        Source of randomness.

    Returns
    -------
    windows : Tensor
        Numbers of windows, shape (n_rounds, n_windows): equally many of each class, each as often
        as the others of its class.
    slots : Tensor
        What is tried on them, shape (n_rounds, draws, n_windows): within a class, each slot as
        often as the others.
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
        dealt = members[_deal(len(members), n_rounds * per_class, stream)]
        windows.append(dealt.view(n_rounds, per_class))
        dealt = _deal(n_slots, n_rounds * draws * per_class, stream)
        slots.append(dealt.view(n_rounds, draws, per_class))
    return torch.cat(windows, -1), torch.cat(slots, -1)


def cut_into_parts(cluster: Tensor, y: Tensor, n_parts: int, generator: Generator) -> Tensor:
    """Cut windows into parts of about the same size that share no cluster.

    Parameters
    ----------
    cluster : Tensor
        What each window shares with others, such as the number of its subject.
    y : Tensor
        Labels, which are spread evenly where each window is a cluster of its own.
    n_parts : int
        Number of parts; fewer if there are not as many clusters.
    generator : torch.Generator
        Source of randomness.

    Returns
    -------
    Tensor
        Number of the part of each window, from 0.
    """
    kinds, number = torch.unique(cluster, return_inverse=True)
    label = torch.zeros_like(kinds).scatter_(0, number, y.to(kinds.dtype))
    order = torch.randperm(len(kinds), generator=generator)
    order = order[label[order].argsort(stable=True)]
    part = torch.empty_like(order)
    part[order] = torch.arange(len(kinds)) % n_parts
    return part[number]


def _deal(n_cards: int, n_wanted: int, generator: Generator) -> Tensor:
    """Deal out one shuffled pack of cards after the other."""
    n_packs = math.ceil(n_wanted / n_cards)
    packs = [torch.randperm(n_cards, generator=generator) for _ in range(n_packs)]
    return torch.cat(packs)[:n_wanted]
