"""Two classes that are mirror images of each other: channel symmetry exchanges them."""

from __future__ import annotations

import torch

import cadda
from cadda import LabelMap, OperationPool, Windows

CLASSES = ("left", "right")
SWAP = LabelMap("channel_symmetry", {"left": "right", "right": "left"})


def mirrored_windows(n_windows: int, *, n_subjects: int = 4, seed: int = 0) -> Windows:
    """Make windows whose class is the channel that has a wave."""
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
