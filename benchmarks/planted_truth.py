"""How often a search finds what was planted, over seeds and settings.

``python -m benchmarks planted_truth`` searches on `cadda.testing.planted_windows`, in which
sign_flip helps one class and destroys two others, and time_reverse helps one class and destroys
three. It prints the rates of success by method and setting, by which the defaults were chosen.
Results are kept in ``benchmarks/results/planted_truth.jsonl``; a rerun computes what is missing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.records import Records
from cadda.testing.planted import CLASS_NAMES, DESTROYS, HELPS, planted_network, planted_windows

OPERATIONS = (
    "sign_flip",
    "time_reverse",
    "gaussian_noise",
    "time_mask",
    "bandstop",
    "frequency_shift",
)
N_WINDOWS = 200
VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "not pooled": {"pooled": False},
    "smoothing 0": {"smoothing": 0.0},
    "smoothing 2": {"smoothing": 2.0},
    "confidence kept": {"confidence": "keep"},
    "calibrated": {"confidence": "calibrate"},
    "no warm-up": {"warmup_epochs": 0},
    "policy_lr 0.01": {"policy_lr": 0.01},
    "policy_lr 0.05": {"policy_lr": 0.05},
    "valid_memory 0": {"valid_memory": 0.0},
    "valid_memory 0.9": {"valid_memory": 0.9},
    "64 validation windows": {"valid_batch_size": 64, "valid_memory": 0.0},
    "unpaired": {"paired": False},
    "straight-through": {"estimator": "straight-through"},
    "per batch": {"granularity": "batch"},
    "exact": {"hypergradient": "exact"},
    "fresh inner gradient": {"reuse_inner_gradient": False},
    "mixture": {"sampling": "mixture"},
    "class-wise": {"classwise": True},
    "paper": {"preset": "paper"},
}


def run(method: str, seed: int, n_epochs: int, changes: dict[str, Any]) -> dict[str, Any]:
    """Search once, and return how often each class is changed by each operation."""
    result = cadda.search(
        planted_windows(N_WINDOWS, varied=False, seed=seed),
        planted_windows(N_WINDOWS, varied=True, seed=seed + 1000),
        method=method,
        model=planted_network,
        operations=OPERATIONS,
        budget=n_epochs,
        seed=seed,
        **changes,
        retrain=False,
        baseline=False,
    )
    return {
        "applied": applied_in_order(result.policy).round(4).tolist(),
        "seconds": round(result.seconds, 1),
    }


def applied_in_order(policy: cadda.PolicySpec) -> np.ndarray:
    """Return how often each class is changed by each operation, in the order of `OPERATIONS`."""
    column = {name: i for i, name in enumerate(policy.operation_names)}
    return policy.operation_probabilities()[:, [column[name] for name in OPERATIONS]]


def success(
    applied: np.ndarray, n_stages: int = 2, operations: tuple[str, ...] = OPERATIONS
) -> dict[str, bool]:
    """Check what of the truth was found; at the start all operations are equally likely."""
    column = {name: i for i, name in enumerate(operations)}
    start = 1 - (1 - 0.5 / len(operations)) ** n_stages
    if len(applied) == 1:
        return {"rejected": all(applied[0, column[name]] < start for name in set(HELPS.values()))}
    row = {name: i for i, name in enumerate(CLASS_NAMES)}
    found = all(
        applied[row[helped], column[name]] > start
        and applied[row[helped], column[name]]
        > max(applied[row[other], column[name]] for other in CLASS_NAMES if other != helped)
        for helped, name in HELPS.items()
    )
    rejected = all(
        applied[row[harmed], column[name]] < start
        for harmed, names in DESTROYS.items()
        for name in names
    )
    return {"found": found, "rejected": rejected}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["adda", "cadda"])
    parser.add_argument("--variants", nargs="+", default=["defaults"], choices=[*VARIANTS, "all"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    records, console = Records("planted_truth"), Console(highlight=False)
    chosen = list(VARIANTS) if "all" in arguments.variants else arguments.variants
    table = Table(title=f"{arguments.seeds} seeds, {arguments.epochs} epochs")
    for name in ("method", "setting", "truth found", "harm rejected", "seconds"):
        table.add_column(name)
    for method in arguments.methods:
        for variant in chosen:
            made = [
                records.get(
                    lambda m=method, s=seed, v=variant: run(m, s, arguments.epochs, VARIANTS[v]),
                    method=method,
                    variant=variant,
                    seed=seed,
                    epochs=arguments.epochs,
                )
                for seed in range(arguments.seeds)
            ]
            verdicts = [success(np.array(record["applied"])) for record in made]
            rates = [
                f"{sum(verdict[key] for verdict in verdicts)}/{len(verdicts)}"
                if key in verdicts[0]
                else ""
                for key in ("found", "rejected")
            ]
            seconds = f"{np.median([record['seconds'] for record in made]):.0f}"
            table.add_row(method, variant, *rates, seconds)
            console.print(f"{method} {variant}: {rates}")
    console.print(table)
