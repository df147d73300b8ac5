"""Whether a search on real motor imagery rejects operations that are wrong there.

Left and right hand differ in the side of the head that is active: channel_symmetry swaps the
classes, and channel_shuffle at full magnitude ruins the montage. ``python -m
benchmarks motor_imagery --folder DIR`` searches on ``motor-imagery-epo.fif.gz`` with 36
training and 12 validation subjects, and prints for each seed how often the two are used. With
``--exchange``, channel_symmetry is also there with the label map that makes it right, which should
then be among the three most used. Results are kept in ``benchmarks/results/motor_imagery.jsonl``.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

import cadda
from benchmarks.records import Records
from cadda.data.splits import split_subjects
from cadda.operations.base import Draw
from cadda.operations.space import ChannelShuffle

WRONG = ("channel_symmetry", "full_channel_shuffle")
EXCHANGE = cadda.LabelMap(
    "channel_symmetry", {"left_fist": "right_fist", "right_fist": "left_fist"}
)
AMONG_LOWEST, AMONG_HIGHEST = 4, 3
"""The two must be among this many least used operations, the exchange among the most used."""


class FullShuffle(ChannelShuffle):
    """Shuffle all channels, always."""

    name = "full_channel_shuffle"
    has_magnitude = False

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return super().apply(x, torch.ones_like(magnitude), draw)


VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "policy_lr 0.01": {"policy_lr": 0.01},
    "policy_lr 0.05": {"policy_lr": 0.05},
    "not pooled": {"pooled": False},
    "smoothing 0": {"smoothing": 0.0},
    "smoothing 2": {"smoothing": 2.0},
    "confidence kept": {"confidence": "keep"},
    "calibrated": {"confidence": "calibrate"},
}


def run(
    folder: Path, method: str, seed: int, n_epochs: int, changes: dict[str, Any], *, exchange: bool
) -> dict[str, Any]:
    windows = cadda.read_windows(folder / "motor-imagery-epo.fif.gz", subject="subject")
    _, rest = split_subjects(windows, (48 / len(windows.subjects),), seed=seed)
    train, valid = split_subjects(rest, (12 / 48,), seed=seed)
    pool = cadda.operation_pool(train)
    pool = pool.select([name for name in pool.names if name != ChannelShuffle.name])
    if exchange:
        pool = pool.with_label_maps([EXCHANGE])
    result = cadda.search(
        train,
        valid,
        method=method,
        model="shallow",
        operations=pool.with_operation(FullShuffle()),
        budget=n_epochs,
        batch_size=64,
        seed=seed,
        **changes,
        retrain=False,
        baseline=False,
    )
    return {
        "subjects": [len(train.subjects), len(valid.subjects)],
        "operations": list(result.policy.operation_names),
        "applied": result.policy.operation_probabilities().round(4).tolist(),
        "seconds": round(result.seconds),
    }


def use_of(made: dict[str, Any]) -> tuple[dict[str, float], float]:
    """Return how often each operation is applied, least used first, and the initial value."""
    used = dict(zip(made["operations"], np.mean(made["applied"], axis=0).tolist(), strict=True))
    start = 1 - (1 - 0.5 / len(used)) ** 2
    return dict(sorted(used.items(), key=lambda item: item[1])), start


def rejects_both(made: dict[str, Any]) -> bool:
    """Check whether both wrong operations fell and are among the least used."""
    used, start = use_of(made)
    lowest = list(used)[:AMONG_LOWEST]
    return all(used[name] < start and name in lowest for name in WRONG)


def prefers_exchange(made: dict[str, Any]) -> bool:
    """Check whether channel symmetry with exchanged labels is among the most used."""
    highest = list(use_of(made)[0])[-AMONG_HIGHEST:]
    return any(name.startswith(f"{EXCHANGE.operation} (") for name in highest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", default=["adda"])
    parser.add_argument("--variants", nargs="+", default=["defaults"], choices=VARIANTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--exchange", action="store_true", help="symmetry with a label map, too")
    arguments = parser.parse_args()
    records, console = Records("motor_imagery"), Console(highlight=False)
    for method, variant in product(arguments.methods, arguments.variants):
        n_rejected = n_preferred = 0
        for seed in arguments.seeds:
            made = records.get(
                lambda m=method, v=variant, s=seed: run(
                    *(arguments.folder, m, s, arguments.epochs, VARIANTS[v]),
                    exchange=arguments.exchange,
                ),
                method=method,
                variant=variant,
                seed=seed,
                epochs=arguments.epochs,
                exchange=arguments.exchange,
            )
            used, start = use_of(made)
            n_rejected += rejects_both(made)
            n_preferred += prefers_exchange(made)
            ranks = ", ".join(f"{name} {share:.3f}" for name, share in used.items())
            console.print(f"{method} {variant} {seed}: {ranks}")
        found = f", the exchange preferred in {n_preferred}" if arguments.exchange else ""
        console.print(
            f"{method}, {variant}: both rejected in {n_rejected}{found} of "
            f"{len(arguments.seeds)} seeds (start {start:.3f}, {arguments.epochs} epochs)"
        )
