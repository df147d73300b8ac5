"""How fast operations and policies are: ratios to braindecode, to a copy and to a training step.

``python -m benchmarks speed`` prints tables; ``make bench`` includes the ratios.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Literal, TypeAlias

import torch
from braindecode import augmentation
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.timing import SECONDS, Ratio, milliseconds
from cadda import OperationPool, Policy, StagedPolicy, operation_pool
from cadda._internal.random import Seeds
from cadda.models.networks import Chambon2018

MakeTransform: TypeAlias = Callable[[], Callable[..., object]]

N_WINDOWS = 64
N_CLASSES = 5
MONTAGES = {
    "2 × 3000 at 100 Hz": (["Fpz-Cz", "Pz-Oz"], 100.0, 3000),
    "6 × 3840 at 128 Hz": (["C3", "C4", "F3", "F4", "O1", "O2"], 128.0, 3840),
}
WANTED = {
    "ft_surrogate": 3,
    "frequency_shift": 3,
    "time_mask": 3,
    "gaussian_noise": 2,
    "bandstop": 50,
    "rotation_x": 50,
    "rotation_y": 50,
    "rotation_z": 50,
}
MAGNITUDES = {"channel_dropout": 0.5, "channel_shuffle": 0.5}


def justify(heading: str) -> Literal["left", "right"]:
    return "left" if heading in ("operation", "windows") else "right"


def peers(ch_names: list[str], sfreq: float) -> dict[str, MakeTransform]:
    """Make braindecode's transforms, always applied, at the strength of our magnitudes.

    What older versions lack has no peer there.
    """
    found: dict[str, MakeTransform] = {
        "time_reverse": lambda: augmentation.TimeReverse(1.0),
        "sign_flip": lambda: augmentation.SignFlip(1.0),
        "ft_surrogate": lambda: augmentation.FTSurrogate(1.0, channel_indep=False),
        "frequency_shift": lambda: augmentation.FrequencyShift(1.0, sfreq, max_delta_freq=5.0),
        "bandstop": lambda: augmentation.BandstopFilter(1.0, sfreq, bandwidth=2.0),
        "time_mask": lambda: augmentation.SmoothTimeMask(1.0, mask_len_samples=int(sfreq)),
        "gaussian_noise": lambda: augmentation.GaussianNoise(1.0, std=0.2),
        "channel_dropout": lambda: augmentation.ChannelsDropout(1.0, p_drop=0.5),
        "channel_shuffle": lambda: augmentation.ChannelsShuffle(1.0, p_shuffle=0.5),
        "channel_symmetry": lambda: augmentation.ChannelsSymmetry(1.0, ch_names),
        "rotation_x": lambda: augmentation.SensorsXRotation(1.0, ch_names, max_degrees=30),
        "rotation_y": lambda: augmentation.SensorsYRotation(1.0, ch_names, max_degrees=30),
        "rotation_z": lambda: augmentation.SensorsZRotation(1.0, ch_names, max_degrees=30),
    }
    newer: dict[str, tuple[str, dict[str, object]]] = {
        "amplitude_scale": ("AmplitudeScale", {"interval": (0.5, 2.0)}),
        "re_reference": ("ChannelsReref", {}),
        "mask_encoding": ("MaskEncoding", {"max_mask_ratio": 0.3, "n_segments": 3}),
        "segment_recombination": ("SegmentationReconstruction", {"n_segments": 8}),
    }
    for name, (transform, arguments) in newer.items():
        if hasattr(augmentation, transform):
            found[name] = partial(getattr(augmentation, transform), 1.0, **arguments)
    return found


def operation_times(
    title: str, seconds: float = SECONDS
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each operation with the milliseconds of a copy, its own, and those of its peer."""
    ch_names, sfreq, n_times = MONTAGES[title]
    pool = operation_pool(sfreq=sfreq, ch_names=ch_names, operations=["all"])
    x = torch.randn(N_WINDOWS, len(ch_names), n_times, generator=Seeds(0).stream("windows"))
    y = torch.zeros(N_WINDOWS, dtype=torch.long)
    generator = Seeds(0).stream("draws")
    makers = peers(ch_names, sfreq)
    for operation in track(list(pool), description=title, transient=True):
        magnitude = MAGNITUDES.get(operation.name, 1.0)
        alternatives: dict[str, Callable[[], object]] = {
            "copy": x.clone,
            "cadda": partial(operation, x, magnitude, y=y, generator=generator),
        }
        if operation.name in makers:
            alternatives["peer"] = partial(makers[operation.name](), x, y)
        yield operation.name, milliseconds(alternatives, seconds=seconds)


def operations_table(title: str) -> Table:
    table = Table(
        title=f"{N_WINDOWS} windows of {title}, float32; peer: braindecode", title_justify="left"
    )
    for heading in ("operation", "ms", "× copy", "peer ms", "faster", "wanted"):
        table.add_column(heading, justify=justify(heading), no_wrap=heading == "operation")
    for name, time in operation_times(title):
        copies = f"{time['cadda'] / time['copy']:.1f}"
        table.add_row(name, f"{time['cadda']:.2f}", copies, *comparison(name, time))
    return table


def comparison(name: str, time: dict[str, float]) -> tuple[str, str, str]:
    """Return the cells that compare with a peer, if there is one."""
    if "peer" not in time:
        return "–", "–", "–"
    ratio, wanted = time["peer"] / time["cadda"], WANTED.get(name, 1)
    met = "met" if ratio >= wanted else "MISSED"
    return f"{time['peer']:.2f}", f"{ratio:.1f}×", f"≥ {wanted}× {met}"


def policy_times(
    pool: OperationPool, x: Tensor, probability: float, seconds: float
) -> dict[str, float]:
    """Time a copy, a policy of 5 × 2 stages, and a training step of the sleep CNN."""
    relaxed = StagedPolicy(pool)
    with torch.no_grad():
        relaxed.probability_logit.copy_(torch.logit(torch.tensor(probability), 1e-6))
    policy = Policy(relaxed.to_spec(), pool)
    generator = Seeds(0).stream("draws")
    y = torch.arange(N_WINDOWS) % N_CLASSES
    model = Chambon2018(x.shape[1], x.shape[2], N_CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def training_step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()

    return milliseconds(
        {
            "copy": x.clone,
            "policy": lambda: policy(x, generator=generator),
            "step": training_step,
        },
        seconds=seconds,
    )


def policy_row(title: str, pool: OperationPool, x: Tensor, probability: float) -> list[str]:
    time = policy_times(pool, x, probability, seconds=2.0)
    share = time["policy"] / time["step"]
    return [
        title,
        f"{probability:g}",
        f"{time['policy']:.1f}",
        f"{time['policy'] / time['copy']:.0f}",
        f"{time['step']:.1f}",
        f"{share:.3f}",
        f"< 0.25 {'met' if share < 0.25 else 'MISSED'}",
    ]


def policy_table() -> Table:
    title = f"Policy of 5 × 2 stages on {N_WINDOWS} windows; step: training the sleep CNN on them"
    table = Table(title=title, title_justify="left")
    for heading in ("windows", "p", "ms", "× copy", "step ms", "share", "wanted"):
        table.add_column(heading, justify=justify(heading), no_wrap=heading == "windows")
    for name in MONTAGES:
        for probability in (0.5, 1.0):
            table.add_row(*policy_row(name, *policy_input(name), probability))
    return table


def policy_input(title: str) -> tuple[OperationPool, Tensor]:
    ch_names, sfreq, n_times = MONTAGES[title]
    x = torch.randn(N_WINDOWS, len(ch_names), n_times, generator=Seeds(0).stream("windows"))
    return operation_pool(sfreq=sfreq, ch_names=ch_names), x


def ratios(seconds: float) -> Iterator[Ratio]:
    """Compare operations with braindecode, and policies with a training step."""
    for title in MONTAGES:
        for name, time in operation_times(title, seconds):
            if "peer" in time:
                wanted = WANTED.get(name, 1)
                yield Ratio(
                    f"{name}, {title}: × braindecode", time["peer"] / time["cadda"], wanted
                )
    for title in MONTAGES:
        time = policy_times(*policy_input(title), 1.0, 2 * seconds)
        share = time["policy"] / time["step"]
        yield Ratio(f"policy at p = 1, {title}: share of a step", share, 0.25, is_cost=True)


def main() -> None:
    console = Console()
    console.print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, braindecode "
        f"{version('braindecode')}, {platform.machine()}; one run, alternatives timed in turn."
    )
    for name in MONTAGES:
        console.print(operations_table(name))
    console.print(policy_table())
