"""The cost of a search step by method, in plain training steps of the same model and batch.

``python -m benchmarks search_cost`` prints tables; ``make bench`` includes the ratios.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.nn.functional import cross_entropy

import cadda
from benchmarks.timing import Ratio, milliseconds
from cadda._internal.random import Seeds
from cadda.api.prepare import make_problem
from cadda.models._fused_convolution import PooledConvolution
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.searchers.registry import find_method
from cadda.training.problem import Problem

MASS = ("C3", "C4", "F3", "F4", "O1", "O2")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "adda": ("adda", {}),
    "adda, fresh gradient": ("adda", {"reuse_inner_gradient": False}),
    "adda, unpaired": ("adda", {"paired": False}),
    "adda, exact": ("adda", {"hypergradient": "exact"}),
    "cadda": ("cadda", {}),
    "dada": ("dada", {}),
    "adda as a mixture": ("adda", {"sampling": "mixture"}),
    "faster_autoaugment": ("faster_autoaugment", {}),
}
MIXTURE = "adda as a mixture"
TORCH_LAYERS = "plain step with torch's layers"
SHAPES = {"2 × 3000": (2, 3000, 100.0), "6 × 3840": (6, 3840, 128.0)}
LIMITS = {"adda": 5.0, "adda, fresh gradient": 6.0, "cadda": 6.0}


def make(
    n_windows: int = 64,
    n_classes: int = 5,
    n_operations: int = 13,
    shape: tuple[int, int, float] = (6, 3840, 128.0),
) -> Problem:
    """Make a problem of noise: only its size matters here."""
    n_channels, n_times, sfreq = shape
    g = Seeds(0).stream("windows")
    parts = [
        cadda.Windows(
            torch.randn(n_windows, n_channels, n_times, generator=g),
            torch.arange(n_windows) % n_classes,
            subject=[f"{side}{i % 4}" for i in range(n_windows)],
            sfreq=sfreq,
            ch_names=MASS[:n_channels],
            class_names=[f"class {i}" for i in range(n_classes)],
        )
        for side in ("a", "b")
    ]
    names = cadda.operation_pool(parts[0]).names[:n_operations]
    return make_problem(*parts, model="chambon2018", operations=names, device="cpu")


def searcher(problem: Problem, name: str, **settings: Any) -> Any:
    """Make a searcher that is past its warm-up."""
    method_name, fixed = METHODS[name]
    method = find_method(method_name)
    chosen = method.resolve_settings({"warmup_epochs": 0} | fixed | settings)
    kind = FasterSearcher if isinstance(chosen, FasterSettings) else BilevelSearcher
    return kind(problem, chosen, classwise=method.classwise)


def plain_step(
    problem: Problem, batch_size: int, *, with_torch_layers: bool = False
) -> Callable[[], None]:
    """Return a training step without augmentation, with cadda's faster layers or torch's own."""
    model = problem.make_model(0)
    for layer in model.modules():
        if with_torch_layers and isinstance(layer, PooledConvolution):
            layer.forward = layer.plain
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = problem.training_batch(torch.arange(batch_size))

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def plain_steps(
    problem: Problem,
    names: list[str],
    batch_size: int = 16,
    seconds: float = 3.0,
    **settings: Any,
) -> dict[str, float]:
    """Time steps of some methods and of plain training, in turn; return their ratios."""
    steps: dict[str, Callable[[], object]] = {"plain": plain_step(problem, batch_size)}
    for name in names:
        if name == TORCH_LAYERS:
            steps[name] = plain_step(problem, batch_size, with_torch_layers=True)
        else:
            steps[name] = searcher(problem, name, batch_size=batch_size, **settings).step
    times = milliseconds(steps, seconds=seconds)
    return {name: times[name] / times["plain"] for name in names}


def ratios(seconds: float) -> Iterator[Ratio]:
    """Compare search steps with plain training steps, and methods with each other."""
    for words, shape in SHAPES.items():
        names = [*LIMITS, MIXTURE, TORCH_LAYERS]
        cost = plain_steps(make(shape=shape), names, seconds=seconds)
        for name, limit in LIMITS.items():
            yield Ratio(f"step of {name}, {words}: plain steps", cost[name], limit, is_cost=True)
        relative = cost["adda"] / cost[TORCH_LAYERS]
        yield Ratio(
            f"step of adda, {words}: plain steps with torch's layers", relative, 5.0, is_cost=True
        )
        yield Ratio(f"cadda / adda, {words}", cost["cadda"] / cost["adda"], 1.15, is_cost=True)
        yield Ratio(f"{MIXTURE} / adda, {words}", cost[MIXTURE] / cost["adda"], 3.0)


def augmenting(problem: Problem, name: str) -> Callable[[], None]:
    """Return a function that augments a batch as a method does, and differentiates it."""
    method = searcher(problem, name)
    x, y = problem.training_batch(torch.arange(16))
    slope, parameters = torch.randn_like(x), list(method.policy.parameters())

    def augment() -> None:
        draw = method.policy.draw(x, y)
        torch.autograd.grad(method.policy.transform(x, draw), parameters, slope, allow_unused=True)

    return augment


def peak_memory(kind: str) -> float:
    """Measure the memory of twenty steps beyond that of data and model, in MiB.

    Run in a process of its own, under Linux, which can forget the peak before the steps.
    """
    problem = make(shape=(2, 3000, 100.0))
    step = plain_step(problem, 16) if kind == "plain" else searcher(problem, kind).step
    Path("/proc/self/clear_refs").write_text("5")
    before = _kibibytes("VmRSS")
    for _ in range(20):
        step()
    return (_kibibytes("VmHWM") - before) / 1024


def _kibibytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", choices=["plain", *METHODS], help="measure only this, in MiB")
    arguments = parser.parse_args()
    if arguments.memory is not None:
        print(peak_memory(arguments.memory))
    else:
        print_tables()


def print_tables() -> None:
    console = Console(highlight=False)
    table = Table(title="one search step, in plain training steps (batch 16)")
    for name in ("method", "2 × 3000", "6 × 3840", "wanted"):
        table.add_column(name, justify="right")
    names = [*METHODS, TORCH_LAYERS]
    small, large = (plain_steps(make(shape=shape), names) for shape in SHAPES.values())
    for name in names:
        limit = f"≤ {LIMITS[name]:.0f}" if name in LIMITS else ""
        table.add_row(name, f"{small[name]:.1f}", f"{large[name]:.1f}", limit)
    console.print(table)
    for words, found in (("2 × 3000", small), ("6 × 3840", large)):
        console.print(
            f"{words}: cadda / adda {found['cadda'] / found['adda']:.2f} (wanted ≤ 1.15); "
            f"mixture / adda {found['adda as a mixture'] / found['adda']:.1f} (wanted ≥ 3); "
            f"faster_autoaugment / adda {found['faster_autoaugment'] / found['adda']:.1f}"
        )
    print_augmenting(console)
    print_growth(console)
    print_memory(console)


def print_augmenting(console: Console) -> None:
    """Compare what sampling and mixing cost by themselves, without the model."""
    problem = make()
    times = milliseconds(
        {name: augmenting(problem, name) for name in ("adda", "adda as a mixture")}, seconds=3.0
    )
    console.print(
        f"Augmenting 16 windows of 6 × 3840 and its derivative, without the model: "
        f"mixture / adda {times['adda as a mixture'] / times['adda']:.1f}"
    )


def print_growth(console: Console) -> None:
    """Show what the cost of a step of ADDA or CADDA grows with."""
    shape = (2, 3000, 100.0)
    table = Table(title="growth (2 × 3000), in plain training steps")
    table.add_column("what")
    table.add_column("from … to")
    rows: list[tuple[str, str, list[float]]] = [
        (
            "classes, cadda",
            "2, 5, 20",
            [plain_steps(make(n_classes=n, shape=shape), ["cadda"])["cadda"] for n in (2, 5, 20)],
        ),
        (
            "operations, adda",
            "2, 5, 9",
            [plain_steps(make(n_operations=n, shape=shape), ["adda"])["adda"] for n in (2, 5, 9)],
        ),
        (
            "subpolicies L, adda",
            "1, 5, 25",
            [
                plain_steps(make(shape=shape), ["adda"], n_subpolicies=n)["adda"]
                for n in (1, 5, 25)
            ],
        ),
        (
            "stages K, adda",
            "1, 2, 4",
            [plain_steps(make(shape=shape), ["adda"], n_stages=n)["adda"] for n in (1, 2, 4)],
        ),
        (
            "batch size, adda",
            "8, 16, 64",
            [plain_steps(make(shape=shape), ["adda"], batch_size=n)["adda"] for n in (8, 16, 64)],
        ),
    ]
    for what, values, costs in rows:
        table.add_row(f"{what}: {values}", ", ".join(f"{cost:.1f}" for cost in costs))
    console.print(table)


def print_memory(console: Console) -> None:
    """Compare peak memory, each measured in a process of its own."""
    grown = {}
    for kind in ("plain", "adda", "cadda", "adda as a mixture"):
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks", "search_cost"]
        done = subprocess.run(  # noqa: S603
            [*command, "--memory", kind],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent.parent,
        )
        grown[kind] = float(done.stdout)
    words = ", ".join(
        f"{kind} {value:.0f} MiB ({value / grown['plain']:.1f}×)" for kind, value in grown.items()
    )
    console.print(f"Memory of twenty steps beyond data and model: {words} (wanted adda ≤ 2.5×)")
