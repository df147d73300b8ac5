"""How to screen: the settings, and which window meets which operation and validation windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Generator, Tensor

from cadda._internal.random import Seeds
from cadda._internal.validation import Count, NonNegative, Positive, validated_dataclass

__all__ = [
    "MIN_SUBJECTS",
    "ScreeningProgress",
    "ScreeningSettings",
    "assign_trials",
    "split_into_parts",
]

MIN_SUBJECTS = 8
"""With fewer subjects, windows count as independent instead."""


@validated_dataclass
class ScreeningSettings:
    """How to screen.

    Parameters
    ----------
    magnitudes : tuple of float
        Magnitudes to try, in (0, 1].
    n_rounds : int
        How often rewards are computed.
    windows_per_round : int
        Training windows in a round, about as many of each class.
    draws : int
        Operations that are tried on each of them.
    n_epochs : int
        Epochs that the rounds are spread over.
    min_accuracy : float
        Accuracy on the training windows, dropout included, that ends the warm-up.
    max_warmup : int
        Largest number of warm-up epochs.
    batch_size : int
        Training windows per step.
    n_parts : int
        Number of parts that the validation windows are split into.
    valid_batch_size : int
        Largest number of validation windows per round, resampled each time.
    lr : float
        Learning rate of Adam.
    unroll_lr : float
        Step size ξ of the unrolled training step.
    smoothing : float
        Epochs that the running mean of the weights goes back; 0 takes the weights as they are.
    seed : int
        Decides everything that is random.
    """

    magnitudes: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)] = (
        0.25,
        0.5,
        0.75,
        1.0,
    )
    n_rounds: Count = 80
    windows_per_round: Count = 60
    draws: Count = 6
    n_epochs: Count = 30
    min_accuracy: NonNegative = 0.85
    max_warmup: Annotated[int, Field(ge=0)] = 60
    batch_size: Count = 16
    n_parts: Count = 20
    valid_batch_size: Count = 256
    lr: Positive = 1e-3
    unroll_lr: Positive = 1e-3
    smoothing: NonNegative = 4.0
    seed: int = 0


@dataclass(frozen=True)
class ScreeningProgress:
    """Progress of a screening.

    Parameters
    ----------
    done : int
        Work done, in passes of one window through the model.
    total : int
        All work, of which the warm-up may need less.
    n_rounds : int
        Rounds done; 0 during the warm-up.
    epoch : int
        Epochs trained so far.
    accuracy : float
        Accuracy on the training windows in the last epoch.
    """

    done: int
    total: int
    n_rounds: int
    epoch: int
    accuracy: float


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
