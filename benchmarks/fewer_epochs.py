"""Whether a race decides the same with fewer epochs in each of its training runs.

``python -m benchmarks fewer_epochs --folder DIR`` trains some policies in blocks, as a race does,
on a draw of the panel that no result is reported of, and keeps the validation losses of all
epochs. From these it computes what other rules would have decided: a shorter patience, and giving
up candidates that are far behind no augmentation. A warm start, epochs without augmentation that
all candidates of a block share, needs training runs of its own.

A race of some blocks is drawn many times. A rule is as good as whole training runs if the
candidates that it prefers gain as much *by whole training runs*, and useful if it saves epochs.
Results are kept in ``benchmarks/results/fewer_epochs.jsonl``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.panel_sets import SETS, Cell
from benchmarks.records import Records
from cadda.api.prepare import join_windows, make_problem
from cadda.policies.schedule import PolicySchedule, Segment, build_policy
from cadda.searchers.race.blocks import block_problem, make_block
from cadda.training import Problem, train

Losses = dict[str, list[list[float]]]
"""Validation losses: of each candidate, in each block, after each epoch."""

N_BLOCKS = 8
N_DRAWN = 4
"""Blocks of a race that is drawn."""
N_RACES = 500
WARM_EPOCHS = 10
POLICIES = {
    "motor-imagery": (
        "channel_symmetry p=0.5 -> {left_fist: right_fist, right_fist: left_fist}",
        "channel_symmetry p=0.5",
        "time_mask p=1.0 m=0.0..1.0",
        "gaussian_noise p=1.0 m=0.0..1.0",
        "channel_dropout p=1.0 m=0.0..0.5",
        "channel_shuffle p=1.0 m=1.0",
        "rotation_z p=1.0 m=0.0..1.0",
    ),
    "simulated-sleep": (
        "sign_flip p=0.5",
        "time_reverse p=0.5",
        "frequency_shift p=1.0 m=0.0..0.3",
        "frequency_shift p=1.0 m=1.0",
        "time_mask p=1.0 m=0.0..1.0",
        "gaussian_noise p=1.0 m=1.0",
        "ft_surrogate p=1.0 m=0.0..1.0",
    ),
}
NONE = "none"


def train_in_block(cell: Cell, problem: Problem, number: int, text: str, *, warm: bool) -> Any:
    """Train with a policy in a block; return the validation losses."""
    subjects = tuple(sorted(set(problem.train.subject)))
    block = make_block(subjects, number, seed=0)
    part = block_problem(problem, block)
    policy = None
    if text != NONE:
        spec = cadda.PolicySpec.from_text(text)
        first = Segment(WARM_EPOCHS, cadda.PolicySpec.none())
        schedule = PolicySchedule((first, Segment(1, spec)))
        policy = build_policy(schedule if warm else spec, problem.pool)
    settings = replace(cell.data.training, seed=block.seed)
    history = train(part, settings, policy=policy).history
    return [round(epoch.valid_loss, 4) for epoch in history]


def collect(name: str, folder: Path, console: Console) -> tuple[Losses, Losses]:
    """Train, or read, all runs of a set: as in a race, and with a warm start."""
    cell, records = Cell(name, 12, 0), Records("fewer_epochs")
    parts = cell.parts(folder, 0)
    usable = join_windows(parts.train, parts.valid)
    # Blocks split the training part themselves.
    problem = make_problem(usable, parts.test, model=cell.data.model, device="cpu")
    found: tuple[Losses, Losses] = ({}, {})
    for text in (NONE, *POLICIES[name]):
        for losses, warm in zip(found, (False, True), strict=True):
            if text == NONE and warm:
                losses[text] = found[0][text]
                continue
            runs = []
            for number in range(N_BLOCKS):
                made = records.get(
                    lambda number=number, text=text, warm=warm: {
                        "losses": train_in_block(cell, problem, number, text, warm=warm)
                    },
                    set=name,
                    policy=text,
                    block=number,
                    warm=warm,
                )
                runs.append(made["losses"])
            losses[text] = runs
        console.print(f"{name}: {text}")
    return found


@dataclass(frozen=True)
class Outcome:
    """What a rule makes of the training runs."""

    gains: NDArray[np.float64]  # of candidates in blocks, by the logarithm of the loss
    n_epochs: float


def stopped(losses: list[float], patience: int) -> int:
    """Return after how many epochs a run of a given patience ends."""
    best = 0
    for epoch, loss in enumerate(losses):
        if loss < losses[best]:
            best = epoch
        if epoch - best >= patience:
            return epoch + 1
    return len(losses)


def given_up(losses: list[float], plain: float, margin: float, after: int) -> int:
    """Return after how many epochs a run that is far behind no augmentation is given up."""
    best = np.minimum.accumulate(losses)
    behind = np.log(best / plain) > margin
    behind[: after - 1] = False
    return int(behind.argmax()) + 1 if behind.any() else len(losses)


def outcome(losses: Losses, length: Callable[[list[float], float], int]) -> Outcome:
    """Shorten all runs but those of no augmentation, and compute gains."""
    plain = np.array([min(run) for run in losses[NONE]])
    gains, n_epochs = [], sum(map(len, losses[NONE]))
    for name, runs in losses.items():
        if name == NONE:
            gains.append(np.zeros(len(plain)))
            continue
        lengths = [length(run, best) for run, best in zip(runs, plain, strict=True)]
        n_epochs += sum(lengths)
        least = [min(run[:n]) for run, n in zip(runs, lengths, strict=True)]
        gains.append(np.log(plain) - np.log(least))
    return Outcome(np.array(gains), n_epochs)


def outcomes(full: Losses, warm: Losses) -> dict[str, Outcome]:
    """Apply all rules."""
    found = {"whole runs": outcome(full, lambda run, _: len(run))}
    for patience in (15, 10, 5):
        found[f"patience {patience}"] = outcome(
            full, lambda run, _, patience=patience: stopped(run, patience)
        )
    for margin, after in ((0.1, 20), (0.05, 20), (0.05, 10), (0.02, 10)):
        found[f"given up if {margin} behind after {after} epochs"] = outcome(
            full,
            lambda run, plain, margin=margin, after=after: given_up(run, plain, margin, after),
        )
    made = outcome(warm, lambda run, _: len(run))
    n_shared = WARM_EPOCHS * (len(warm) - 1) * N_BLOCKS
    found[f"warm start of {WARM_EPOCHS} epochs"] = replace(made, n_epochs=made.n_epochs - n_shared)
    return found


def regret(rule: Outcome, whole: Outcome) -> tuple[float, float]:
    """Draw races; return how much less their winners gain, and how often they are the same.

    Gains are those of whole runs in the blocks that the race did not have.
    """
    generator = np.random.default_rng(0)
    less, same = [], []
    for _ in range(N_RACES):
        order = generator.permutation(N_BLOCKS)
        drawn, others = order[:N_DRAWN], order[N_DRAWN:]
        mine, best = (int(kind.gains[:, drawn].mean(1).argmax()) for kind in (rule, whole))
        true = whole.gains[:, others].mean(1)
        less.append(true[best] - true[mine])
        same.append(mine == best)
    return float(np.mean(less)), float(np.mean(same))


def table_of(name: str, found: dict[str, Outcome]) -> Table:
    """Make the table of a set."""
    table = Table(title=f"{SETS[name].title}: races of {N_DRAWN} blocks", title_justify="left")
    for heading in ("rule", "epochs", "change of gains", "winner gains less", "same winner"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    whole = found["whole runs"]
    for rule, made in found.items():
        less, same = regret(made, whole)
        change = np.abs(made.gains - whole.gains).mean()
        share = made.n_epochs / whole.n_epochs
        table.add_row(rule, f"{share:.0%}", f"{change:.3f}", f"{less:+.4f}", f"{same:.0%}")
    return table


def run(names: Iterable[str], folder: Path, console: Console) -> None:
    for name in names:
        console.print(table_of(name, outcomes(*collect(name, folder, console))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(POLICIES), help=", ".join(POLICIES))
    parser.add_argument("--folder", type=Path, default=Path(), help="folder of the recordings")
    arguments = parser.parse_args()
    unknown = set(arguments.sets) - set(POLICIES)
    if unknown:
        parser.error(f"unknown sets: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    run(arguments.sets, arguments.folder, Console(highlight=False))
