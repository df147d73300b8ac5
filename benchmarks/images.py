"""What DADA and Faster AutoAugment find in images, the kind of data that they were made for.

``python -m benchmarks images --folder DIR`` searches on a hundred images of MNIST among five
operations of AutoAugment that keep digits and five that do not, trains with the policies, and
tests on 2,000 other images: none, all operations equally often, only those that keep digits, and
the policies of the searches. Beside Faster AutoAugment runs a search whose policy stays as it
starts, for the scores of its critic. Results are kept in ``benchmarks/results/images.jsonl``; a
rerun computes what is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import t

import cadda
from benchmarks.image_operations import GEOMETRIC, digit_pool
from benchmarks.records import Records
from cadda._internal.statistics import Estimate, mean_with_error
from cadda.data.datasets.mnist import read_mnist
from cadda.policies.relaxed.policies import StagedPolicy
from cadda.searchers.events import SearchEpoch

PER_CLASS = 10
"""Training images of each digit, and as many for validation."""
N_TEST = 2000
UNIFORM = ("uniform", "keeps digits")
FASTER = "faster_autoaugment"
CONDITIONS = ("none", *UNIFORM, "dada", FASTER)


@lru_cache(maxsize=1)
def read(folder: Path) -> tuple[cadda.Windows, cadda.Windows]:
    images = read_mnist(folder)
    return images[images.recording == "train"], images[images.recording == "test"]


def parts(folder: Path, seed: int) -> tuple[cadda.Windows, cadda.Windows, cadda.Windows]:
    """Draw images to train on, to validate with and to test on."""
    known, test = read(folder)
    rng = np.random.default_rng(seed)
    is_late = np.isin(known.subject, known.subjects[len(known.subjects) // 2 :])
    train, valid = (
        known[
            np.concatenate(
                [
                    rng.permutation(np.flatnonzero((known.y.numpy() == digit) & half))[:PER_CLASS]
                    for digit in range(known.n_classes)
                ]
            )
        ]
        for half in (~is_late, is_late)
    )
    return train, valid, test[rng.permutation(len(test))[:N_TEST]]


def search(
    method: str,
    train: cadda.Windows,
    valid: cadda.Windows,
    seed: int,
    n_epochs: int,
    **settings: Any,
) -> tuple[cadda.PolicySpec, list[float]]:
    """Return the policy of a method, and the mean reward in each epoch that has one."""
    result = cadda.search(
        train,
        valid,
        method=method,
        model="lenet1",
        operations=digit_pool(),
        budget=n_epochs,
        seed=seed,
        **settings,
        retrain=False,
        baseline=False,
        progress=False,
    )
    epochs = [event for event in result.history if isinstance(event, SearchEpoch)]
    return result.policy, [round(event.reward, 5) for event in epochs if event.reward is not None]


def run(folder: Path, condition: str, seed: int, n_epochs: int) -> dict[str, Any]:
    """Search, train with the policy, and test."""
    train, valid, test = parts(folder, seed)
    policy, found = None, {}
    if condition in UNIFORM:
        pool = digit_pool()
        policy = StagedPolicy(pool.select(GEOMETRIC) if condition != "uniform" else pool).to_spec()
    elif condition != "none":
        policy, found["rewards"] = search(condition, train, valid, seed, n_epochs)
    if condition == FASTER:
        _, found["rewards_at_start"] = search(
            condition, train, valid, seed, n_epochs, policy_lr=1e-12
        )
    fitted = cadda.fit(
        train,
        valid,
        model="lenet1",
        policy=policy,
        pool=digit_pool(),
        batch_size=50,
        lr=4e-3,
        max_epochs=200,
        patience=50,
        seed=seed,
        progress=False,
    )
    used = None
    if policy is not None:
        share = np.mean(policy.operation_probabilities(), axis=0).round(4).tolist()
        used = dict(zip(policy.operation_names, share, strict=True))
    scores = cadda.evaluate(fitted, test)
    return {"accuracy": round(scores.balanced_accuracy, 4), "applied": used} | found


def accuracies(records: Iterable[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the accuracies of each condition, in the order of the seeds that all of them have."""
    by_condition: dict[str, dict[int, float]] = {condition: {} for condition in CONDITIONS}
    for record in records:
        by_condition[record["condition"]][record["seed"]] = record["accuracy"]
    seeds = sorted(set.intersection(*(set(made) for made in by_condition.values())))
    return {
        condition: np.array([made[seed] for seed in seeds])
        for condition, made in by_condition.items()
    }


def paired_difference(values: np.ndarray, reference: np.ndarray) -> Estimate:
    """Compute the mean difference over seeds with its 95 % interval, by Student's t."""
    mean, error = mean_with_error(values - reference)
    reach = float(t.ppf(0.975, len(values) - 1)) * error
    return Estimate(mean, mean - reach, mean + reach)


def shrunk(records: Iterable[dict[str, Any]], n_epochs: int = 20) -> list[tuple[float, float]]:
    """Return how far the critic told augmented from real images at the end, for each seed.

    That is the mean difference of its scores over the last epochs, with the policy as it stays at
    its start and with the policy that learns.
    """
    return [
        (
            -float(np.mean(record["rewards_at_start"][-n_epochs:])),
            -float(np.mean(record["rewards"][-n_epochs:])),
        )
        for record in records
        if record["condition"] == FASTER
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="that of MNIST")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    records, console = Records("images"), Console(highlight=False)
    for seed, condition in product(range(arguments.seeds), CONDITIONS):
        made = records.get(
            lambda c=condition, s=seed: run(arguments.folder, c, s, arguments.epochs),
            condition=condition,
            seed=seed,
            epochs=arguments.epochs,
        )
        console.print(f"seed {seed}, {condition}: {made['accuracy']:.3f}")
    every = accuracies(records.all())
    table = Table(title=f"{len(every['none'])} seeds, 95 % intervals of paired differences")
    for name in ("policy", "accuracy", "minus none", "minus uniform"):
        table.add_column(name)
    for condition, values in every.items():
        differences = [paired_difference(values, every[name]) for name in ("none", "uniform")]
        cells = (
            f"{part.value:+.3f} ({part.low:+.3f} to {part.high:+.3f})" for part in differences
        )
        table.add_row(condition, f"{values.mean():.3f}", *cells)
    console.print(table)
