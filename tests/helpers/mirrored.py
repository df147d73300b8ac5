"""Two classes that are mirror images of each other: channel symmetry exchanges them."""

from __future__ import annotations

import torch

import cadda
from cadda import LabelMap, OperationPool, Windows

CLASSES = ("left", "right")
SWAP = LabelMap("channel_symmetry", {"left": "right", "right": "left"})


def mirrored_windows(n_windows: int, *, n_subjects: int = 4, seed: int = 0) -> Windows:
    """Make windows whose class is the channel that has a wave, always the same one."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n_windows) % 2
    x = 0.3 * torch.randn(n_windows, 2, 200, generator=generator)
    x[torch.arange(n_windows), y] += torch.sin(torch.arange(200) * 0.6)
    return Windows(
        x,
        y,
        subject=[f"{seed}-{i * n_subjects // n_windows}" for i in range(n_windows)],
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=CLASSES,
    )


def mirrored_pool(*others: str) -> OperationPool:
    """Make a pool with channel symmetry, with kept and with exchanged classes, and others."""
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)
    return pool.select([*others, "channel_symmetry"]).with_label_maps([SWAP])


def sided_windows(n_windows: int, *, varied: bool, seed: int = 0) -> Windows:
    """Make windows in which left waves are slow and right waves fast; varied ones are either.

    Only mirrored windows with exchanged classes show, from others, what varied windows have;
    mirrored windows with kept classes are the opposite of it.
    """
    generator = torch.Generator().manual_seed(2 * seed + varied)
    y = torch.arange(n_windows) % 2
    is_fast = torch.randint(2, (n_windows,), generator=generator) if varied else y
    turns = (6 + 6 * is_fast[:, None]) * torch.arange(200) / 100
    phase = torch.rand(n_windows, 1, generator=generator)
    x = 0.5 * torch.randn(n_windows, 2, 200, generator=generator)
    x[torch.arange(n_windows), y] += torch.sin(2 * torch.pi * (turns + phase))
    return Windows(
        x,
        y,
        subject=[f"{varied}-{i * 4 // n_windows}" for i in range(n_windows)],
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=CLASSES,
    )
