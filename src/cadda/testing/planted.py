"""Windows whose right augmentation is known, class by class, and problems of plain tensors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from cadda._internal.random import Seeds
from cadda.data.windows import Windows
from cadda.models.serialization import ModelDescription
from cadda.operations.pool import OperationPool
from cadda.training.problem import Problem, Samples

__all__ = ["DESTROYS", "HELPS", "planted_network", "planted_windows", "tensor_problem"]

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


def tensor_problem(
    train: tuple[Tensor, Tensor],
    valid: tuple[Tensor, Tensor],
    class_names: tuple[str, ...],
    make_model: Callable[[int], nn.Module],
    *,
    pool: OperationPool | None = None,
    make_critic: Callable[[int], nn.Module] | None = None,
    subject: tuple[str, ...] = (),
) -> Problem:
    """Make a problem of windows (n_windows, n_channels, n_times) and labels, on the CPU."""
    x, y = train
    return Problem(
        train=Samples(x, y, subject),
        valid=Samples(*valid),
        description=ModelDescription(
            model="custom",
            n_channels=x.shape[1],
            n_times=x.shape[2],
            sfreq=1.0,
            ch_names=tuple(str(i) for i in range(x.shape[1])),
            class_names=class_names,
        ),
        make_pool=lambda: OperationPool([]) if pool is None else pool,
        make_model=make_model,
        make_critic=make_critic or make_model,
        device=torch.device("cpu"),
    )
