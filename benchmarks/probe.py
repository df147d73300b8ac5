"""Whether a probe finds the label maps that there are, and no others.

Left and right exchanged, an imagined or executed left fist is a right one; nothing of the kind is
true of fists and feet, of mental arithmetic or of sleep. Turned upside down, a 6 is a 9, and an 8
remains an 8, which flips keep, too. ``python -m benchmarks probe --folder DIR`` probes draws of 12
subjects of ``motor-imagery-epo.fif.gz``, ``executed-fists-epo.fif.gz``, ``fists-feet-epo.fif.gz``
and ``arithmetic-epo.fif.gz``, all subjects of ``sleep-epo.fif.gz``, 12 simulated sleepers, and 100
images of each digit (``mnist/``), and counts the draws with exactly the right maps. Results are
kept in ``benchmarks/results/probe.jsonl``; a rerun computes what is missing.

The defaults of the probe were chosen on draws 0 to 6 and 100 to 113 of fists and on draws 100 and
101 of digits, which are not among the results.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console

import cadda
from benchmarks.records import Records
from cadda.data.datasets.mnist import read_mnist
from cadda.data.windows import Windows
from cadda.operations.label_maps import describe_mapping
from cadda.operations.pool import OperationPool

N_SUBJECTS = 12
DIGITS = (4, 6, 8, 9)
PER_DIGIT = 100
FISTS = {"channel_symmetry": "left_fist ↔ right_fist"}

Found = dict[str, str]
"""Label maps in words, by operation."""


@dataclass(frozen=True)
class Task:
    """Windows of a draw, how to probe them, and whether the maps that were found are right."""

    draw: Callable[[Path, int], Windows]
    is_right: Callable[[Found], bool]
    model: str = "shallow"
    operations: OperationPool | None = None


def draw_subjects(name: str) -> Callable[[Path, int], Windows]:
    def draw(folder: Path, number: int) -> Windows:
        windows = cadda.read_windows(folder / f"{name}-epo.fif.gz", subject="subject")
        order = np.random.default_rng(number).permutation(windows.subjects)
        return windows.of_subjects(order[:N_SUBJECTS].tolist())

    return draw


def all_sleepers(folder: Path, number: int) -> Windows:
    return cadda.read_windows(folder / "sleep-epo.fif.gz", subject="subject")


def simulated_sleepers(folder: Path, number: int) -> Windows:
    return cadda.simulate_sleep(n_subjects=N_SUBJECTS, n_windows=50, seed=number)


def draw_digits(folder: Path, number: int) -> Windows:
    images = read_mnist(folder / "mnist", parts=["train"], digits=DIGITS)
    order = np.random.default_rng(number).permutation(len(images))
    labels = images.y.numpy()[order]
    chosen = [order[labels == label][:PER_DIGIT] for label in range(len(DIGITS))]
    return images[np.concatenate(chosen)]


def no_map(found: Found) -> bool:
    return not found


def exchanged_fists(found: Found) -> bool:
    return found == FISTS


def turned_digits(found: Found) -> bool:
    """Check for 6 ↔ 9 upside down, and no other exchange."""
    return list(found) == ["rotation_180"] and found["rotation_180"].startswith("6 ↔ 9")


TASKS = {
    "motor-imagery": Task(draw_subjects("motor-imagery"), exchanged_fists),
    "executed-fists": Task(draw_subjects("executed-fists"), exchanged_fists),
    "fists-feet": Task(draw_subjects("fists-feet"), no_map),
    "arithmetic": Task(draw_subjects("arithmetic"), no_map),
    "sleep": Task(all_sleepers, no_map, "chambon2018"),
    "simulated-sleep": Task(simulated_sleepers, no_map, "chambon2018"),
    "digits": Task(draw_digits, turned_digits, "lenet1", cadda.image_pool()),
}


def run(task: Task, folder: Path, number: int) -> dict[str, Any]:
    windows = task.draw(folder, number)
    wall, processor = perf_counter(), process_time()
    result = cadda.probe(windows, model=task.model, operations=task.operations, seed=number)
    return {
        "accuracy": round(result.accuracy, 4),
        "low": round(result.accuracy_low, 4),
        "is_useful": result.is_useful,
        "maps": {item.operation: describe_mapping(item.mapping) for item in result.proposals},
        "agreement": {item.operation: round(item.agreement, 4) for item in result.proposals},
        "plain": {item.operation: round(item.plain, 4) for item in result.proposals},
        "destructive": list(result.destructive),
        "kept": {
            operation: {name: result.kept_up_to(operation, name) for name in result.class_names}
            for operation in result.operations
        },
        "seconds": round(perf_counter() - wall, 1),
        "processor_seconds": round(process_time() - processor, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--draws", type=int, nargs="+", default=range(200, 210))
    arguments = parser.parse_args()
    records, console = Records("probe"), Console(highlight=False)
    for name in arguments.tasks:
        task, right = TASKS[name], 0
        for number in arguments.draws:
            made = records.get(
                lambda t=task, n=number: run(t, arguments.folder, n), task=name, draw=number
            )
            is_right = task.is_right(made["maps"])
            right += is_right
            found = "; ".join(f"{o} ({m})" for o, m in made["maps"].items()) or "no map"
            at_chance = "" if made["is_useful"] else ", model at chance"
            console.print(
                f"{name} {number} ({'right' if is_right else 'WRONG'}): plain "
                f"{made['accuracy']:.3f}{at_chance}, {found}, "
                f"{made['processor_seconds']:.0f} s of processor time"
            )
        console.print(f"{name}: exactly the right maps in {right} of {len(arguments.draws)} draws")
