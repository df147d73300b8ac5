"""Windows whose right augmentation is known, class by class."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cadda._internal.random import Seeds
from cadda.data.windows import Windows

__all__ = ["DESTROYS", "HELPS", "planted_network", "planted_windows"]

CLASS_NAMES = ("decay", "growth", "dip", "sweep")
HELPS = {"decay": "sign_flip", "sweep": "time_reverse"}
"""Operation that makes, from training windows of a class, what validation has and they lack."""

DESTROYS = {
    "decay": ("time_reverse",),
    "growth": ("time_reverse", "sign_flip"),
    "dip": ("time_reverse", "sign_flip"),
}
"""Operations that turn windows of a class into windows of another."""

SFREQ = 100.0
N_TIMES = 200
TIME_CONSTANT = 0.25
"""Of decay and growth, in seconds."""

SWEEP_HZ = (4.0, 16.0)


def planted_windows(n_windows: int, *, varied: bool, noise: float = 0.5, seed: int = 0) -> Windows:
    """Make windows of four classes, each with invariances of its own.

    A *decay* jumps and decays, with either sign. A *growth* is an upward decay in reversed time, a
    *dip* the same downwards: reversed time makes one out of a decay, a turned sign makes one out
    of the other. A *sweep* is an oscillation that gets faster or slower. Windows have one channel
    of 2 s at 100 Hz, an amplitude of about 2 and white noise, and come from four subjects.

    Varied windows have decays of both signs, and sweeps in both directions of time; in others all
    decays go up and all sweeps get faster. A model trained on these and tested on varied ones
    needs `HELPS`.
    """
    generator = Seeds(seed).stream("planted windows", varied=int(varied))
    y = torch.arange(n_windows) % len(CLASS_NAMES)

    def uniform() -> Tensor:
        return torch.rand(n_windows, 1, generator=generator)

    time = torch.arange(N_TIMES) / SFREQ
    since = time - (0.4 + 1.2 * uniform())
    decay = torch.where(since >= 0, torch.exp(-since / TIME_CONSTANT), 0.0)
    growth = torch.where(since <= 0, torch.exp(since / TIME_CONSTANT), 0.0)
    low, high = SWEEP_HZ
    turns = low * time + (high - low) * time**2 / (2 * N_TIMES / SFREQ) + uniform()
    sweep = torch.sin(2 * torch.pi * turns)
    flipped, turned = (uniform() < 0.5) & varied, (uniform() < 0.5) & varied
    patterns = torch.stack(
        [
            2 * torch.where(flipped, -decay, decay),
            2 * growth,
            -2 * growth,
            torch.where(turned, sweep.flip(1), sweep),
        ]
    )
    x = patterns[y, torch.arange(n_windows)]
    x = x + noise * torch.randn(x.shape, generator=generator)
    side = "varied" if varied else "plain"
    return Windows(
        x[:, None],
        y,
        subject=[f"{side} {i // len(CLASS_NAMES) % 4}" for i in range(n_windows)],
        sfreq=SFREQ,
        ch_names=["Cz"],
        class_names=CLASS_NAMES,
    )


def planted_network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    """Make a small network that can learn the planted windows, of any length."""
    return nn.Sequential(
        nn.Conv1d(n_channels, 16, 25),
        nn.ReLU(),
        nn.MaxPool1d(4),
        nn.Conv1d(16, 16, 9),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(64, n_classes),
    )
