"""Balanced accuracy without augmentation over five subject-wise folds of real recordings.

Run it with ``python benchmarks/real_recordings.py FOLDER``, where the folder holds
``motor-imagery-epo.fif.gz`` and ``sleep-epo.fif.gz``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter

from rich.console import Console

import cadda
from cadda.data.splits import split_subjects

N_FOLDS = 5
STUDIES = {
    "motor-imagery": {"model": "shallow", "classes": None, "channels": None},
    "sleep": {
        "model": "chambon2018",
        "classes": ["W", "N1", "N2", "R"],
        "channels": ["Fpz-Cz", "Pz-Oz"],
    },
}


def study(folder: Path, name: str, *, batch_size: int, console: Console) -> list[float]:
    settings = STUDIES[name]
    windows = cadda.read_windows(
        folder / f"{name}-epo.fif.gz",
        subject="subject",
        classes=settings["classes"],
        channels=settings["channels"],
    )
    console.print(f"{name}: {windows}", markup=False)
    scores = []
    for fold, (rest, test) in enumerate(windows.folds(N_FOLDS, seed=0)):
        start = perf_counter()
        train, valid = split_subjects(rest, (0.2,), seed=fold)
        fitted = cadda.fit(train, valid, model=settings["model"], batch_size=batch_size, seed=fold)
        scores.append(cadda.evaluate(fitted.model, test).balanced_accuracy)
        console.print(
            f"fold {fold}: {scores[-1]:.3f}, epoch {fitted.best_epoch} of "
            f"{len(fitted.history)}, {perf_counter() - start:.0f} s"
        )
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--studies", nargs="+", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--batch-size", type=int, default=16)
    arguments = parser.parse_args()
    console = Console(highlight=False)
    for name in arguments.studies:
        scores = study(arguments.folder, name, batch_size=arguments.batch_size, console=console)
        console.print(f"{name}: balanced accuracy {mean(scores):.3f} ± {stdev(scores):.3f}")


if __name__ == "__main__":
    main()
