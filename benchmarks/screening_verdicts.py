"""How often a screening finds what was planted, and how often it finds what is not there.

``python benchmarks/screening_verdicts.py`` screens `cadda.testing.planted_windows`, in which
sign_flip makes decays, and time_reverse sweeps, that validation has and training lacks, over
twenty seeds; and the same windows with the validation labels permuted, so that every verdict
is false. Results are kept in ``benchmarks/results/screening_verdicts.jsonl``; a rerun computes
what is missing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import torch
from planted_truth import OPERATIONS
from records import Records
from rich.console import Console
from rich.table import Table

import cadda
from cadda.testing.planted import CLASS_NAMES, DESTROYS, HELPS, planted_network, planted_windows

N_TRAINING, N_VALIDATION = 120, 240
KINDS = ("planted", "labels permuted")


def run(kind: str, seed: int) -> dict[str, Any]:
    """Screen once, and return all verdicts over all magnitudes."""
    train = planted_windows(N_TRAINING, varied=False, seed=seed)
    valid = planted_windows(N_VALIDATION, varied=True, seed=seed + 1000)
    if kind != "planted":
        stream = torch.Generator().manual_seed(seed)
        valid = cadda.Windows(
            valid.x,
            valid.y[torch.randperm(len(valid), generator=stream)],
            subject=valid.subject,
            sfreq=valid.sfreq,
            ch_names=valid.ch_names,
            class_names=valid.class_names,
        )
    found = cadda.screen(
        train,
        valid,
        model=planted_network,
        operations=OPERATIONS,
        n_rounds=40,
        n_epochs=20,
        lr=3e-3,
        seed=seed,
    )
    return {
        "verdicts": [
            [row.class_name, row.operation, row.verdict]
            for row in found.table
            if row.magnitude is None and row.verdict in ("helps", "hurts")
        ],
        "accuracy": round(found.accuracy, 3),
    }


def truth_of(class_name: str, operation: str) -> str:
    if HELPS.get(class_name) == operation:
        return "planted"
    return "destroys" if operation in DESTROYS.get(class_name, ()) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    records, console = Records("screening_verdicts"), Console(highlight=False)
    for kind in KINDS:
        made = [
            records.get(lambda k=kind, s=seed: run(k, s), kind=kind, seed=seed)["verdicts"]
            for seed in range(arguments.seeds)
        ]
        for name, classes in (("all classes", ("*",)), ("single classes", CLASS_NAMES)):
            n_any = sum(any(verdict[0] in classes for verdict in verdicts) for verdicts in made)
            console.print(f"{kind}: a verdict for {name} in {n_any} of {len(made)} screenings")
        counts = Counter(tuple(verdict) for verdicts in made for verdict in verdicts)
        table = Table(title=f"{kind}, {len(made)} seeds")
        for column in ("class", "operation", "truth", "helps", "hurts"):
            table.add_column(column)
        for class_name in ("*", *CLASS_NAMES):
            for operation in OPERATIONS:
                numbers = [counts[class_name, operation, v] for v in ("helps", "hurts")]
                truth = truth_of(class_name, operation)
                if truth or any(numbers):
                    table.add_row(class_name, operation, truth, *map(str, numbers))
        console.print(table)


if __name__ == "__main__":
    main()
