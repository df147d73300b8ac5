"""Whether augmentation found by a search helps on unseen subjects.

``python -m benchmarks benefit simulated`` trains on 350 windows of simulated sleep,
``python -m benchmarks benefit sleep --folder DIR`` on the real windows of ``sleep-epo.fif.gz``:
without augmentation, with a uniform random policy, and with the policy of each method, five folds
each. Augmented windows replace the originals, or are added to them if each class has its own
policy; the conditions that end with ", kept" always keep the originals. ``--repeat 1`` takes five
other folds, which were not used while methods were developed. Results are kept in
``benchmarks/results/benefit.jsonl``; a rerun computes what is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.accuracy import N_SPLITS, Split, recorded_splits, simulated_splits
from benchmarks.records import Records
from cadda._internal.statistics import bootstrap
from cadda.policies.relaxed.policies import StagedPolicy

CONDITIONS = ("none", "uniform", "adda", "cadda", "dada", "faster_autoaugment")
KEPT = ", kept"


def policy_of(condition: str, split: Split, fold: int, n_epochs: int) -> tuple[Any, float]:
    """Return the policy of a condition and the seconds of its search."""
    train, valid, _ = split
    if condition == "none":
        return None, 0.0
    if condition == "uniform":
        return StagedPolicy(cadda.operation_pool(train)).to_spec(), 0.0
    result = cadda.search(
        train, valid, method=condition, budget=n_epochs, seed=fold, retrain=False, baseline=False
    )
    return result.policy, result.seconds


def run(condition: str, split: Split, fold: int, n_epochs: int) -> dict[str, Any]:
    train, valid, test = split
    policy, seconds = policy_of(condition.removesuffix(KEPT), split, fold, n_epochs)
    copies = 1 if condition.endswith(KEPT) else None
    fitted = cadda.fit(train, valid, policy=policy, copies=copies, seed=fold)
    scores = cadda.evaluate(fitted, test)
    return {
        "balanced_accuracy": round(scores.balanced_accuracy, 4),
        "macro_f1": round(scores.macro_f1, 4),
        "search_seconds": round(seconds),
        "best_epoch": fitted.best_epoch,
        "applied": None if policy is None else policy.operation_probabilities().round(3).tolist(),
        "operations": None if policy is None else list(policy.operation_names),
    }


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 75 % bootstrap interval of the mean."""
    low, _, high = bootstrap(values, np.mean)
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", choices=("simulated", "sleep"))
    parser.add_argument("--folder", type=Path, default=Path())
    choices = (*CONDITIONS, *(f"{name}{KEPT}" for name in CONDITIONS[1:]))
    parser.add_argument("--conditions", nargs="+", default=CONDITIONS, choices=choices)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--repeat", type=int, default=0, help="1, 2 and so on are other folds")
    arguments = parser.parse_args()
    records, console = Records("benefit"), Console(highlight=False)
    makers: dict[str, Callable[[], Any]] = {
        "simulated": lambda: simulated_splits("physionet", arguments.repeat),
        "sleep": lambda: recorded_splits("sleep", arguments.folder, arguments.repeat),
    }
    for study in arguments.studies:
        scores: dict[str, list[float]] = {name: [] for name in arguments.conditions}
        for fold, split in enumerate(makers[study](), start=N_SPLITS * arguments.repeat):
            for name in arguments.conditions:
                epochs = None if name.startswith(("none", "uniform")) else arguments.epochs
                made = records.get(
                    lambda n=name, s=split, f=fold: run(n, s, f, arguments.epochs),
                    study=study,
                    condition=name,
                    fold=fold,
                    epochs=epochs,
                )
                scores[name].append(made["balanced_accuracy"])
                console.print(f"{study} {fold} {name}: {made['balanced_accuracy']:.3f}")
        table = Table(title=f"{study}: balanced accuracy on unseen subjects, {N_SPLITS} folds")
        for column in ("augmentation", "mean", "75 % interval", "gain over none, 75 % interval"):
            table.add_column(column)
        plain = np.array(scores.get("none", []))
        for name, values in scores.items():
            array = np.array(values)
            gain = ""
            if len(plain) and name != "none":
                low, high = interval(array - plain)
                gain = f"{(array - plain).mean():+.3f} ({low:+.3f} to {high:+.3f})"
            low, high = interval(array)
            table.add_row(name, f"{array.mean():.3f}", f"{low:.3f} to {high:.3f}", gain)
        console.print(table)
