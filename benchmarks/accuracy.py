"""Balanced accuracy on unseen subjects without augmentation, over five splits by subject.

``python -m benchmarks accuracy simulated-physionet simulated-mass`` trains on 350 windows of
simulated sleep; ``python -m benchmarks accuracy motor-imagery sleep --folder FOLDER`` on real
recordings, ``motor-imagery-epo.fif.gz`` and ``sleep-epo.fif.gz``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter
from typing import Any

from rich.console import Console

import cadda
from cadda.data.splits import split_subjects, stratified_subset
from cadda.data.windows import Windows

N_SPLITS = 5
N_TRAINING_WINDOWS = 350
STUDIES = ("simulated-physionet", "simulated-mass", "motor-imagery", "sleep")
Split = tuple[Windows, Windows, Windows]


def simulated_splits(montage: str, repeat: int = 0) -> Iterator[Split]:
    """Simulate other subjects for each split: 8 for training, 3 for validation, 5 for testing."""
    for seed in range(N_SPLITS * repeat, N_SPLITS * (repeat + 1)):
        windows = cadda.simulate_sleep(16, 80, montage=montage, seed=seed)
        train, valid, test = split_subjects(windows, (3 / 16, 5 / 16), seed=seed)
        yield stratified_subset(train, N_TRAINING_WINDOWS / len(train), seed=seed), valid, test


def read_recorded(name: str, folder: Path, **options: Any) -> Windows:
    """Read a file of recordings; of sleep, the four stages that are not too rare."""
    stages = {"classes": ["W", "N1", "N2", "R"], "channels": ["Fpz-Cz", "Pz-Oz"]}
    chosen = options | (stages if name == "sleep" else {})
    return cadda.read_windows(folder / f"{name}-epo.fif.gz", subject="subject", **chosen)


def recorded_splits(name: str, folder: Path, repeat: int = 0) -> Iterator[Split]:
    windows = read_recorded(name, folder)
    for fold, (rest, test) in enumerate(windows.folds(N_SPLITS, seed=repeat)):
        train, valid = split_subjects(rest, (0.2,), seed=N_SPLITS * repeat + fold)
        yield train, valid, test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    parser.add_argument("--folder", type=Path, default=Path())
    arguments = parser.parse_args()
    console = Console(highlight=False)
    for name in arguments.studies:
        simulated = name.startswith("simulated-")
        splits = (
            simulated_splits(name.removeprefix("simulated-"))
            if simulated
            else recorded_splits(name, arguments.folder)
        )
        motor = name == "motor-imagery"
        scores = []
        for seed, (train, valid, test) in enumerate(splits):
            start = perf_counter()
            fitted = cadda.fit(
                train,
                valid,
                model="shallow" if motor else "chambon2018",
                batch_size=64 if motor else 16,
                patience=15 if motor else 30,
                seed=seed,
            )
            scores.append(cadda.evaluate(fitted, test).balanced_accuracy)
            console.print(
                f"{name} {seed}: {scores[-1]:.3f} ({len(train)} training windows, epoch "
                f"{fitted.best_epoch} of {len(fitted.history)}, {perf_counter() - start:.0f} s)"
            )
        console.print(
            f"{name}: balanced accuracy {mean(scores):.3f} ± {stdev(scores):.3f} "
            f"({min(scores):.3f} to {max(scores):.3f})"
        )
