"""How often the demo shows a gain.

``python -m benchmarks demo_seeds`` runs what ``cadda demo`` computes with seeds 0 to 9 and tests
the difference in balanced accuracy with and without the policy over the 20 test subjects (paired
t-test). ``python -m benchmarks demo_seeds sleep`` does the same for ``cadda demo sleep``. Results
are kept in ``benchmarks/results/demo_seeds.jsonl``, and unfinished searches in the folder
``--work``; a rerun computes what is missing.
"""

from __future__ import annotations

import argparse
import resource
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.records import Records
from cadda.api.demo import DEMOS, N_TEST
from cadda.reporting.html.scores import score_predictions
from cadda.reporting.records import Predictions
from cadda.runs.folder import RunFolder

LEVEL = 0.05


def key_of(name: str, seed: int) -> dict[str, Any]:
    """Return what a result depends on, beside the code."""
    demo = DEMOS[name]
    return {
        "demo": name,
        "n_usable": demo.n_usable,
        "n_test": N_TEST,
        "n_windows": demo.n_windows,
        "budget": demo.budget,
        "max_epochs": demo.training.max_epochs,
        "lr": demo.training.lr,
        "seed": seed,
    }


def run_seed(name: str, seed: int, work: Path) -> dict[str, Any]:
    """Run the demo; what an interrupted run has done is used."""
    demo, folder = DEMOS[name], work / f"{name}-{seed}"
    wall, processor = perf_counter(), processor_seconds()
    windows = demo.windows(seed)
    result = demo.run(windows, folder, seed=seed).result
    seconds = perf_counter() - wall
    predictions = Predictions.load(RunFolder(folder).predictions)
    verdict = None if result.race is None else result.race.verdict
    claim = (
        {}
        if verdict is None
        else {
            "candidate": verdict.candidate,
            "claimed": [verdict.gain, verdict.low, verdict.high],
            "is_gain": verdict.is_gain,
        }
    )
    by_subject = score_predictions(predictions, windows.class_names).by_subject
    return {
        "policy": result.policy.to_text(),
        **claim,
        **paired_gain(*by_subject),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor_seconds() - processor, 1),
    }


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has ended."""
    usage = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usage)


def paired_gain(
    with_policy: NDArray[np.float64], without: NDArray[np.float64]
) -> dict[str, float | list[float]]:
    """Compute the mean gain over test subjects, its 95 % interval and the two-sided p-value."""
    from scipy.stats import ttest_rel

    scores = [float(without.mean()), float(with_policy.mean())]
    if np.array_equal(with_policy, without):
        # No augmentation was recommended.
        return {"scores": scores, "gain": 0.0, "interval": [0.0, 0.0], "p": 1.0}
    test = ttest_rel(with_policy, without)
    return {
        "scores": scores,
        "gain": scores[1] - scores[0],
        "interval": [float(end) for end in test.confidence_interval(0.95)],
        "p": float(test.pvalue),
    }


def is_significant(record: dict[str, Any]) -> bool:
    return bool(record["gain"] > 0 and record["p"] < LEVEL)


def table_of(records: list[dict[str, Any]]) -> Table:
    """Return a row for each seed."""
    n_significant = sum(map(is_significant, records))
    table = Table(
        title=f"significant gain in {n_significant} of {len(records)} seeds",
        caption=f"gain on {N_TEST} test subjects with its 95 % interval; expected: in the race",
    )
    for column in ("seed", "chosen", "expected", "none", "policy", "gain", "p", "s", "CPU s"):
        table.add_column(column)
    for record in sorted(records, key=lambda record: record["seed"]):
        none, policy = record["scores"]
        low, high = record["interval"]
        table.add_row(
            str(record["seed"]),
            record.get("candidate", "") if record.get("is_gain") else "none",
            f"{record['claimed'][0]:+.3f}" if "claimed" in record else "",
            f"{none:.3f}",
            f"{policy:.3f}",
            f"{record['gain']:+.3f} [{low:+.3f}, {high:+.3f}]",
            f"{record['p']:.2g}",
            f"{record['seconds']:.0f}",
            f"{record['processor_seconds']:.0f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", nargs="?", choices=DEMOS, default="motor-imagery")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--work", type=Path, default=Path("demo-work"))
    arguments = parser.parse_args()
    records, console = Records("demo_seeds"), Console(highlight=False)
    warnings.simplefilter("ignore")
    made = []
    for seed in arguments.seeds:
        key = key_of(arguments.demo, seed)
        made.append(
            records.get(lambda: run_seed(arguments.demo, key["seed"], arguments.work), **key)  # noqa: B023
        )
        console.print(table_of(made[-1:]))
    console.print(table_of(made))
