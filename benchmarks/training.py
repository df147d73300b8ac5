"""How long a training step of the sleep CNN takes: fused, plain, and braindecode's of one size.

``python -m benchmarks training`` prints tables; ``make bench`` includes the ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from braindecode.models import SleepStagerChambon2018
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.timing import Ratio, milliseconds
from cadda._internal.random import Seeds
from cadda.models.networks import Chambon2018

N_CLASSES = 5
SHAPES = {(2, 3000): 100.0, (6, 3840): 128.0}
BATCHES = (16, 64)


def training_step(model: nn.Module, x: Tensor) -> Callable[[], None]:
    y = torch.arange(len(x)) % N_CLASSES
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def plain_form(n_channels: int, n_times: int) -> nn.Module:
    model = Chambon2018(n_channels, n_times, N_CLASSES)
    for layer in (model.first, model.second):
        layer.forward = layer.plain  # type: ignore[method-assign]
    return model


def peer(n_channels: int, n_times: int, sfreq: float) -> nn.Module:
    """Make braindecode's network with the same kernels, pools and dropout, given in seconds."""
    return SleepStagerChambon2018(
        n_chans=n_channels,
        n_times=n_times,
        n_outputs=N_CLASSES,
        sfreq=sfreq,
        time_conv_size_s=64 / sfreq,
        max_pool_size_s=16 / sfreq,
        pad_size_s=32 / sfreq,
        dropout=0.5,
    )


def times(
    n_windows: int, n_channels: int, n_times: int, sfreq: float, seconds: float
) -> dict[str, float]:
    """Time a training step in its fused and plain form, and that of the peer."""
    shape = (n_windows, n_channels, n_times)
    x = torch.randn(shape, generator=Seeds(0).stream("windows"))
    return milliseconds(
        {
            "fused": training_step(Chambon2018(n_channels, n_times, N_CLASSES), x),
            "plain": training_step(plain_form(n_channels, n_times), x),
            "peer": training_step(peer(n_channels, n_times, sfreq), x),
        },
        seconds=seconds,
    )


def wanted_ratio(n_windows: int, n_channels: int) -> int:
    return 5 if (n_windows, n_channels) == (16, 6) else 2


def ratios(seconds: float) -> Iterator[Ratio]:
    """Compare a training step with that of braindecode's network of the same size."""
    for (n_channels, n_times), sfreq in SHAPES.items():
        for n_windows in BATCHES:
            time = times(n_windows, n_channels, n_times, sfreq, seconds)
            yield Ratio(
                f"training step, {n_windows} × {n_channels} × {n_times}: × braindecode",
                time["peer"] / time["fused"],
                wanted_ratio(n_windows, n_channels),
            )


def row(n_windows: int, n_channels: int, n_times: int, sfreq: float) -> list[str]:
    time = times(n_windows, n_channels, n_times, sfreq, seconds=3.0)
    wanted = wanted_ratio(n_windows, n_channels)
    ratios = [time[other] / time["fused"] for other in ("plain", "peer")]
    met = "met" if min(ratios) >= wanted else "MISSED"
    return [
        f"{n_windows} × {n_channels} × {n_times}",
        *(f"{time[name]:.1f}" for name in ("fused", "plain", "peer")),
        *(f"{ratio:.1f}×" for ratio in ratios),
        f"≥ {wanted}× {met}",
    ]


def main() -> None:
    table = Table(
        title="Training step of the sleep CNN (ms); peer: braindecode's of the same size",
        title_justify="left",
    )
    for heading in ("batch", "fused", "plain", "peer", "of plain", "of peer", "wanted"):
        table.add_column(heading, justify="left" if heading == "batch" else "right")
    for (n_channels, n_times), sfreq in SHAPES.items():
        for n_windows in BATCHES:
            table.add_row(*row(n_windows, n_channels, n_times, sfreq))
    Console().print(table)
