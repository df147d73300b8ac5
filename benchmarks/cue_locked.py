"""What networks for motor imagery use: scores on windows with sign or time reversed.

``python -m benchmarks cue_locked --folder FOLDER`` trains without augmentation on 500 windows of
``motor-imagery-epo.fif.gz`` in FOLDER, and tests on windows as they are, with the other sign, and
backwards. For a network that uses rhythms only, all three would be the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from torch import Tensor

import cadda
from benchmarks.accuracy import recorded_splits
from cadda.data.splits import stratified_subset

N_TRAINING_WINDOWS = 500


def accuracy(fitted: cadda.Fitted, test: cadda.Windows, x: Tensor) -> float:
    changed = cadda.Windows(
        x,
        test.y,
        subject=test.subject,
        sfreq=test.sfreq,
        ch_names=test.ch_names,
        class_names=test.class_names,
    )
    return cadda.evaluate(fitted, changed).balanced_accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path())
    folder = parser.parse_args().folder
    console = Console(highlight=False)
    for seed, (train, valid, test) in enumerate(recorded_splits("motor-imagery", folder)):
        few = stratified_subset(train, N_TRAINING_WINDOWS / len(train), seed=seed)
        fitted = cadda.fit(few, valid, model="shallow", batch_size=64, patience=30, seed=seed)
        turned = {"as they are": test.x, "other sign": -test.x, "backwards": test.x.flip(-1)}
        scores = [f"{name} {accuracy(fitted, test, x):.3f}" for name, x in turned.items()]
        console.print(f"split {seed}: {', '.join(scores)}")
