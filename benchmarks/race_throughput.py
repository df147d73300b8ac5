"""Training runs per minute of a race: one by one, in two processes, stacked, and at the most.

``python -m benchmarks race_throughput`` trains candidates as a race does, on windows of noise:
``chambon2018`` on 100 and 400 windows of 2 × 3000, ``shallow`` on 360 of 8 × 400, LeNet-1 on 400
images of 28 × 28. Each run has one thread and the same number of epochs. The floor is the time of
the matrix products and convolutions that the network is defined by, forward and backward, from
their number of operations and the measured rate of a matrix product: layers that do with fewer
operations can be faster. Times are those of the clock: run it on a machine that has nothing else
to do.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import torch
from rich.console import Console
from rich.table import Table
from torch.utils.flop_counter import FlopCounterMode

import cadda
from benchmarks.timing import Ratio, milliseconds
from cadda._internal.random import Seeds
from cadda.api.prepare import make_problem
from cadda.compute import open_engine
from cadda.policies.schedule import build_policy
from cadda.searchers.race.blocks import block_problem, make_block, run_candidate
from cadda.searchers.race.candidates import Candidate, Level
from cadda.searchers.trials.protocol import one_thread
from cadda.training import Problem, TrainingSettings
from cadda.training.batched import can_stack, train_stacked

N_SUBJECTS = 8
ENGINE = "processes:2"
RATE_SIZE = 1024
"""Rows and columns of the matrices whose product is timed."""


@dataclass(frozen=True)
class Setting:
    """What is trained."""

    model: str
    n_windows: int
    shape: tuple[int, int]
    n_classes: int
    policy: str
    least_share: float | None = None  # of the floor

    @property
    def title(self) -> str:
        """Name in tables and of the command line."""
        return f"{self.model}-{self.n_windows}"

    def problem(self) -> Problem:
        """Make the windows of a race, all in the training part."""
        is_image = self.model == "lenet1"
        operations = cadda.image_pool() if is_image else None
        # A race splits the training part by itself.
        parts = self._windows(self.n_windows, "s"), self._windows(2 * N_SUBJECTS, "other ")
        return make_problem(*parts, model=self.model, operations=operations, device="cpu")

    def _windows(self, n_windows: int, prefix: str) -> cadda.Windows:
        """Make noise of some subjects."""
        n_channels, is_image = self.shape[0], self.model == "lenet1"
        names = ["FC3", "FC4", "C3", "C4", "CP3", "CP4", "O1", "O2"][:n_channels]
        return cadda.Windows(
            torch.randn(n_windows, *self.shape, generator=Seeds(0).stream(prefix)),
            torch.arange(n_windows) % self.n_classes,
            subject=[f"{prefix}{i * N_SUBJECTS // n_windows}" for i in range(n_windows)],
            sfreq=1.0 if is_image else 100.0,
            ch_names=[str(row) for row in range(n_channels)] if is_image else names,
            class_names=[f"class {i}" for i in range(self.n_classes)],
        )


SETTINGS = {
    setting.title: setting
    for setting in (
        Setting("chambon2018", 100, (2, 3000), 5, "sign_flip p=0.5", least_share=0.5),
        Setting("chambon2018", 400, (2, 3000), 5, "sign_flip p=0.5", least_share=0.5),
        Setting("shallow", 360, (8, 400), 2, "channel_dropout p=0.5 m=0.5"),
        Setting("lenet1", 400, (28, 28), 4, "horizontal_flip p=0.5"),
    )
}


@dataclass(frozen=True)
class Race:
    """Some training runs of a setting, one in each block."""

    setting: Setting
    problem: Problem
    training: TrainingSettings
    n_runs: int

    @property
    def candidate(self) -> Candidate:
        """The policy that is tried."""
        spec = cadda.PolicySpec.from_text(self.setting.policy)
        return Candidate(self.setting.policy, spec, Level.SINGLE)

    def run(self, engine: str) -> float:
        """Run all, and return the runs per minute; starting the workers does not count."""
        subjects = tuple(sorted(set(self.problem.train.subject)))
        blocks = [make_block(subjects, number, 0) for number in range(self.n_runs)]
        with open_engine(engine) as workers:
            shared = workers.share(self.problem)
            first = replace(self.training, max_epochs=1)
            warm = [
                workers.submit(run_candidate, shared, blocks[0], self.candidate, first)
                for _ in range(workers.n_workers)
            ]
            for future in warm:
                future.result()
            start = perf_counter()
            futures = [
                workers.submit(run_candidate, shared, block, self.candidate, self.training)
                for block in blocks
            ]
            scores = [future.result() for future in futures]
            seconds = perf_counter() - start
        failures = [score.failure for score in scores if score.failure is not None]
        if failures:
            raise RuntimeError(f"a training run failed: {failures[0]}")
        return 60 * self.n_runs / seconds

    def run_stacked(self) -> float | None:
        """Train all at once in one process; None for a model that cannot be stacked."""
        if not can_stack(self.problem.new_model(0)):
            return None
        subjects = tuple(sorted(set(self.problem.train.subject)))
        problem = block_problem(self.problem, make_block(subjects, 0, 0))
        policies = [build_policy(self.candidate.policy, problem.pool)] * self.n_runs
        settings = [replace(self.training, seed=seed) for seed in range(self.n_runs)]
        with one_thread():
            start = perf_counter()
            train_stacked(problem, settings, policies)
            return 60 * self.n_runs / (perf_counter() - start)

    def floor(self, rate: float) -> float:
        """Return the runs per minute if nothing but the network's own arithmetic took time.

        ``rate`` is the number of floating-point operations per second.
        """
        subjects = tuple(sorted(set(self.problem.train.subject)))
        problem = block_problem(self.problem, make_block(subjects, 0, 0))
        # Without memory, layers have no faster ways than those of torch.
        model = problem.new_model(0).to("meta")
        with FlopCounterMode(display=False) as counter:
            model(torch.empty(problem.train.x.shape, device="meta")).sum().backward()
            with torch.no_grad():
                model(torch.empty(problem.valid.x.shape, device="meta"))
        n_operations: int = counter.get_total_flops() * self.training.max_epochs
        return 60 * rate / n_operations


def product_rate() -> float:
    """Measure the floating-point operations per second of a matrix product on one thread."""
    first, second = torch.randn(2, RATE_SIZE, RATE_SIZE, generator=Seeds(0).stream("matrices"))
    with one_thread():
        time = milliseconds({"product": lambda: first @ second})["product"]
    return float(2 * RATE_SIZE**3 / (time / 1e3))


@dataclass(frozen=True)
class Throughput:
    """Training runs per minute in each way."""

    setting: Setting
    serial: float
    parallel: float
    stacked: float | None
    floor: float

    def ratios(self) -> Iterator[Ratio]:
        """Compare them with what is wanted."""
        title, least = self.setting.title, self.setting.least_share
        yield Ratio(f"{title}: {ENGINE} / serial", self.parallel / self.serial, 1.8)
        if least is not None:
            yield Ratio(f"{title}: serial / floor", self.serial / self.floor, least)
        if self.stacked is not None:
            yield Ratio(f"{title}: stacked / serial", self.stacked / self.serial, 2.0)

    def row(self) -> list[str]:
        """Return the numbers as text."""
        numbers = (self.serial, self.parallel, self.stacked, self.floor)
        return [self.setting.title, *("–" if n is None else f"{n:.1f}" for n in numbers)]


def measure(setting: Setting, *, n_runs: int, n_epochs: int, rate: float) -> Throughput:
    training = TrainingSettings(max_epochs=n_epochs, patience=n_epochs, batch_size=16)
    race = Race(setting, setting.problem(), training, n_runs)
    return Throughput(
        setting, race.run("serial"), race.run(ENGINE), race.run_stacked(), race.floor(rate)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), help=", ".join(SETTINGS))
    parser.add_argument("--runs", type=int, default=8, help="training runs of each setting")
    parser.add_argument("--epochs", type=int, default=20, help="of each training run")
    arguments = parser.parse_args()
    unknown = set(arguments.settings) - set(SETTINGS)
    if unknown:
        parser.error(f"unknown settings: {', '.join(sorted(unknown))}")
    rate = product_rate()
    table = Table(
        title=f"Training runs of {arguments.epochs} epochs per minute, one thread each; "
        f"matrix products: {rate / 1e9:.0f} GFLOP/s",
        title_justify="left",
    )
    for heading in ("setting", "serial", ENGINE, "stacked", "floor"):
        table.add_column(heading, justify="left" if heading == "setting" else "right")
    ratios: list[Ratio] = []
    for name in arguments.settings:
        made = measure(SETTINGS[name], n_runs=arguments.runs, n_epochs=arguments.epochs, rate=rate)
        table.add_row(*made.row())
        ratios += made.ratios()
    summary = Table(title="Wanted beside got", title_justify="left")
    for heading in ("what", "got", "wanted", ""):
        summary.add_column(heading, justify="left" if heading == "what" else "right")
    for ratio in ratios:
        summary.add_row(*ratio.row())
    console = Console(highlight=False)
    console.print(table)
    console.print(summary)
