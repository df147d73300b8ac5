"""Whether a screening predicts which operations help in full training runs.

``python benchmarks/screening.py sleep --folder DIR`` takes the real windows of
``sleep-epo.fif.gz``, ``python benchmarks/screening.py simulated`` 350 training windows of
simulated sleep, ``few-windows`` 100 of them, where operations have larger effects, and
``many-subjects`` 350 with eight times as many validation and four times as many test subjects. In
each of five folds, the reward of each operation in one screening, over all classes and in standard
errors, is compared with its gain in balanced accuracy on unseen subjects: that of models trained
with this operation alone over models trained without. Each window is changed with probability 0.5,
with one of the magnitudes that were screened. Seeds other than 0 make other folds. The method was
developed on planted windows, after results of seed 0 had been seen. Results are kept in
``benchmarks/results/screening.jsonl``; a rerun computes what is missing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from accuracy import N_SPLITS, N_TRAINING_WINDOWS, Split
from records import Records
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr, t

import cadda
from cadda._internal.statistics import mean_with_error
from cadda.data.splits import split_subjects, stratified_subset
from cadda.screening.controls import destructive_controls
from cadda.screening.design import ScreeningSettings

N_RESAMPLES = 10_000
STUDIES = ("simulated", "few-windows", "many-subjects", "sleep")
N_TRAINING_SUBJECTS = 8
PROBABILITY = 0.5
VERDICTS = ("helps", "undecided", "hurts")


def simulated_splits(
    seed: int, n_train: int = N_TRAINING_WINDOWS, n_valid: int = 3, n_test: int = 5
) -> Iterator[Split]:
    """Simulate other subjects for each fold: 8 for training, others for validation and testing."""
    n_all = N_TRAINING_SUBJECTS + n_valid + n_test
    for fold in range(N_SPLITS):
        number = 100 * seed + fold
        windows = cadda.simulate_sleep(n_all, 80, montage="physionet", seed=number)
        train, valid, test = split_subjects(
            windows, (n_valid / n_all, n_test / n_all), seed=number
        )
        yield stratified_subset(train, n_train / len(train), seed=number), valid, test


def sleep_splits(folder: Path, seed: int) -> Iterator[Split]:
    windows = cadda.read_windows(
        folder / "sleep-epo.fif.gz",
        subject="subject",
        classes=["W", "N1", "N2", "R"],
        channels=["Fpz-Cz", "Pz-Oz"],
    )
    for fold, (rest, test) in enumerate(windows.folds(N_SPLITS, seed=seed)):
        train, valid = split_subjects(rest, (0.2,), seed=100 * seed + fold)
        yield train, valid, test


def run_screening(split: Split, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    train, valid, _ = split
    start = perf_counter()
    found = cadda.screen(train, valid, seed=seed, **settings)
    seconds = perf_counter() - start
    rows = [row for row in found.table if row.class_name == "*" and row.magnitude is None]
    return {
        "operations": {
            row.operation: {
                "reward": round(row.reward, 5),
                "standard_error": round(row.standard_error, 5),
                "verdict": row.verdict,
            }
            for row in rows
        },
        "independent": found.independent,
        "accuracy": round(found.accuracy, 3),
        "seconds": round(seconds),
    }


def run_training(split: Split, seed: int, operation: str | None) -> dict[str, Any]:
    train, valid, test = split
    policy = None if operation is None else policy_of(operation, train)
    fitted = cadda.fit(train, valid, policy=policy, seed=seed)
    scores = cadda.evaluate(fitted, test)
    return {
        "balanced_accuracy": round(scores.balanced_accuracy, 4),
        "best_epoch": fitted.best_epoch,
    }


def policy_of(operation: str, windows: cadda.Windows) -> cadda.Policy:
    """Apply one operation or control half of the time, with the magnitudes of a screening."""
    pool = cadda.operation_pool(windows)
    for control in destructive_controls(windows.sfreq):
        pool = pool.with_operation(control)
    text = f"{operation} p={PROBABILITY}"
    if pool[operation].has_magnitude:
        text = "\n".join(f"{text} m={m}" for m in ScreeningSettings().magnitudes)
    return cadda.Policy(cadda.PolicySpec.from_text(text, known=pool.names), pool)


def collect(
    study: str, splits: Iterator[Split], arguments: argparse.Namespace, console: Console
) -> list[dict[str, dict[str, Any]]]:
    """Return the verdict and the gain of each operation by fold."""
    records, folds = Records("screening"), []
    settings = json.loads(arguments.settings)
    for fold, split in enumerate(splits):
        key = {"study": study, "seed": arguments.seed, "fold": fold}
        number = 100 * arguments.seed + fold
        seen = records.get(
            lambda s=split, n=number: run_screening(s, n, settings),
            **key,
            what="screening",
            settings=settings,
        )
        console.print(f"{study} {fold}: screened in {seen['seconds']} s")
        accuracy: dict[str | None, float] = {}
        names = [
            name
            for name, row in seen["operations"].items()
            if arguments.controls or row["verdict"] != "control"
        ]
        for operation in (None, *names):
            scores = [
                records.get(
                    lambda s=split, n=number + 10_000 * r, o=operation: run_training(s, n, o),
                    **key,
                    what="training",
                    operation=operation,
                    repeat=r,
                )["balanced_accuracy"]
                for r in range(arguments.repeats)
            ]
            accuracy[operation] = float(np.mean(scores))
            console.print(f"{study} {fold} {operation}: {accuracy[operation]:.3f}")
        folds.append(
            {n: seen["operations"][n] | {"gain": accuracy[n] - accuracy[None]} for n in names}
        )
    return folds


def report(study: str, folds: list[dict[str, dict[str, Any]]], console: Console) -> None:
    names = list(folds[0])
    reward = np.array(
        [[fold[n]["reward"] / fold[n]["standard_error"] for n in names] for fold in folds]
    )
    gain = np.array([[fold[n]["gain"] for n in names] for fold in folds])
    verdict = np.array([[fold[n]["verdict"] for n in names] for fold in folds])
    table = Table(title=f"{study}: {len(folds)} folds")
    for column in ("operation", "reward / SE", "gain", "SE of gain", *VERDICTS):
        table.add_column(column)
    for i in np.argsort(-gain.mean(0)):
        counts = [str((verdict[:, i] == kind).sum()) for kind in VERDICTS]
        numbers = (reward[:, i].mean(), *mean_with_error(gain[:, i]))
        table.add_row(names[i], *(f"{number:+.3f}" for number in numbers), *counts)
    console.print(table)
    tried = (verdict != "control")[0]
    reward, gain, verdict = reward[:, tried], gain[:, tried], verdict[:, tried]
    each = np.array([spearmanr(r, g).statistic for r, g in zip(reward, gain, strict=True)])
    console.print("Spearman per fold:", *(f"{correlation:+.2f}" for correlation in each))
    mean, error = mean_with_error(each)
    low, high = t.interval(0.95, len(each) - 1, mean, error)
    console.print(f"mean over folds: {each.mean():+.2f} (95 % {low:+.2f} to {high:+.2f})")
    low, high = interval_of_means(reward, gain)
    whole = float(spearmanr(reward.mean(0), gain.mean(0)).statistic)
    console.print(f"of the means over folds: {whole:+.2f} (95 % {low:+.2f} to {high:+.2f})")
    for name, values in (("rewards", reward), ("gains", gain)):
        console.print(f"{name} of a fold with those of the others: {agreement(values):+.2f}")
    for kind in VERDICTS:
        if (verdict == kind).any():
            values = gain[verdict == kind]
            console.print(f"{kind}: {len(values)} times, mean gain {values.mean():+.3f}")


def agreement(values: np.ndarray) -> float:
    """Correlate each fold with the mean of the others: an upper limit for any prediction."""
    others = [np.delete(values, fold, 0).mean(0) for fold in range(len(values))]
    pairs = zip(values, others, strict=True)
    return float(np.mean([spearmanr(fold, rest).statistic for fold, rest in pairs]))


def interval_of_means(reward: np.ndarray, gain: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over folds of the correlation of means."""
    rng = np.random.default_rng(0)
    resamples = rng.integers(len(reward), size=(N_RESAMPLES, len(reward)))
    values = [spearmanr(reward[i].mean(0), gain[i].mean(0)).statistic for i in resamples]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--seed", type=int, default=0, help="other folds")
    parser.add_argument("--repeats", type=int, default=1, help="models per operation and fold")
    parser.add_argument("--controls", action="store_true", help="train with the controls too")
    parser.add_argument("--settings", default="{}", help="settings of the screening, as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(highlight=False)
    makers: dict[str, Callable[[], Iterator[Split]]] = {
        "simulated": lambda: simulated_splits(arguments.seed),
        "few-windows": lambda: simulated_splits(arguments.seed, n_train=100),
        "many-subjects": lambda: simulated_splits(arguments.seed, n_valid=24, n_test=20),
        "sleep": lambda: sleep_splits(arguments.folder, arguments.seed),
    }
    for study in arguments.studies:
        report(study, collect(study, makers[study](), arguments, console), console)


if __name__ == "__main__":
    main()
