"""How many trials or seconds each method needs to find a planted truth.

``python -m benchmarks search_budget`` searches on the windows of ``planted_truth.py`` with every
method, class-agnostic and class-wise, and prints how many seeds have found what was planted after
1, 2, 4, … epochs or trials, and how long that took. Policies are as small as they can be, one
subpolicy of one stage (the grid of RandAugment has one or two), because chance finds nothing in
more. One search gives all points of its curve: the policy after each epoch, or the best one after
each trial. ``--operations 3`` leaves the two planted operations and noise, which chance can find.
Results are kept in ``benchmarks/results/search_budget.jsonl``; a rerun computes what is missing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.planted_truth import N_WINDOWS, OPERATIONS, success
from benchmarks.records import Records
from cadda.searchers.events import Retrained, TrialEnd
from cadda.searchers.registry import METHODS
from cadda.testing.planted import planted_network, planted_windows
from cadda.training import TrainingSettings

TRAINING = TrainingSettings(max_epochs=40, patience=10)
MARGIN = 1e-3
SMALLEST = {"n_subpolicies": 1, "n_stages": 1}
STACKED = {"stack": 8, "trials_at_once": 8}
SETTINGS: dict[str, dict[str, int]] = {
    "dada": {"n_stages": 1},
    "randaugment": STACKED,
    "random": SMALLEST | STACKED,
    "autoaugment": SMALLEST | STACKED,
}


def run(
    method: str, *, classwise: bool, seed: int, budget: int, operations: tuple[str, ...]
) -> dict[str, Any]:
    """Search once, and return the policy after 1, 2, 4, … epochs or trials."""
    train = planted_windows(N_WINDOWS, varied=False, seed=seed)
    result = cadda.search(
        train,
        planted_windows(N_WINDOWS, varied=True, seed=seed + 1000),
        method=method,
        classwise=classwise,
        model=planted_network,
        operations=operations,
        budget=budget,
        training=TRAINING,
        seed=seed,
        retrain=False,
        baseline=False,
        **SETTINGS.get(method, SMALLEST),
    )
    names = cadda.operation_pool(train, operations=operations).names
    columns = [names.index(name) for name in operations]
    points = []
    for event in result.history:
        if isinstance(event, Retrained):
            continue
        number = event.number if isinstance(event, TrialEnd) else event.epoch
        if number & (number - 1) == 0 or number == len(result.history):
            points.append(
                {
                    "budget": number,
                    "seconds": round(event.seconds, 2),
                    "applied": np.array(event.applied)[:, columns].tolist(),
                }
            )
    return {"points": points}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=64, help="budget of methods by gradients")
    parser.add_argument("--trials", type=int, default=64, help="budget of methods by trials")
    parser.add_argument("--operations", type=int, default=len(OPERATIONS), choices=(3, 6))
    parser.add_argument("--classwise-only", action="store_true", help="a policy per class only")
    arguments = parser.parse_args()
    operations = OPERATIONS[: arguments.operations]
    torch.set_num_threads(1)
    records, console = Records("search_budget"), Console(highlight=False)
    table = Table(title=f"seeds of {arguments.seeds} with success after so many epochs or trials")
    for name in ("method", "policies", "what", "budget: successes (median seconds)"):
        table.add_column(name)
    for method in arguments.methods:
        budget = arguments.trials if METHODS[method].unit == "trial" else arguments.epochs
        only_classwise = METHODS[method].classwise or arguments.classwise_only
        for classwise in (True,) if only_classwise else (False, True):
            # ADDA class by class is CADDA, which has a row of its own.
            if method == "adda" and classwise:
                continue
            made = [
                records.get(
                    lambda m=method, c=classwise, s=seed, b=budget: run(
                        m, classwise=c, seed=s, budget=b, operations=operations
                    ),
                    method=method,
                    classwise=classwise,
                    seed=seed,
                    budget=budget,
                    **({} if operations == OPERATIONS else {"n_operations": len(operations)}),
                )
                for seed in range(arguments.seeds)
            ]
            for what, words in curves(made, operations).items():
                table.add_row(method, "per class" if classwise else "one", what, words)
            console.print(f"{method}, {'per class' if classwise else 'one policy'}: done")
    console.print(table)


def curves(records: list[dict[str, Any]], operations: tuple[str, ...]) -> dict[str, str]:
    """Count, for each kind of success, the seeds that have it after each budget."""
    by_budget: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        for point in record["points"]:
            by_budget.setdefault(point["budget"], []).append(point)
    lines: dict[str, list[str]] = {}
    for budget, points in sorted(by_budget.items()):
        seconds = np.median([point["seconds"] for point in points])
        # A policy that has not moved yet has rejected nothing.
        verdicts = [
            success(np.array(point["applied"]) + MARGIN, n_stages=1, operations=operations)
            for point in points
        ]
        for what in verdicts[0]:
            count = sum(verdict[what] for verdict in verdicts)
            lines.setdefault(what, []).append(f"{budget}: {count} ({seconds:.0f} s)")
    return {what: "  ".join(words) for what, words in lines.items()}
