"""Models trained per second: small networks stacked and stepped together, or one by one.

``python -m benchmarks stacked`` trains LeNet-1 on 4 classes of 1,000 images of 28 × 28 pixels for
an epoch, M times, with and without a policy. Images are noise with a pattern per class: speed does
not depend on what they show. Both ways are timed in turn, by the time of one processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import process_time

import torch
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.timing import Ratio
from cadda.api.prepare import make_problem
from cadda.training import TrainingSettings, train
from cadda.training.batched import train_stacked

CLASS_NAMES = ("4", "5", "6", "9")
N_PIXELS = 28
BATCHES = (16, 128)
POLICIES = {
    "none": None,
    "flips, rotation": "horizontal_flip p=0.5 > rotation_90 p=0.5\nvertical_flip p=0.5",
}


def images(n: int, seed: int) -> cadda.Windows:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % len(CLASS_NAMES)
    patterns = torch.randn(len(CLASS_NAMES), N_PIXELS, N_PIXELS, generator=generator)
    return cadda.Windows(
        patterns[y] + torch.randn(n, N_PIXELS, N_PIXELS, generator=generator),
        y,
        subject=[f"writer {seed}"] * n,
        sfreq=1.0,
        ch_names=[str(row) for row in range(N_PIXELS)],
        class_names=CLASS_NAMES,
    )


def seconds_of(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return process_time() - start


def compare(
    n_models: int, n_images: int, batch_size: int, text: str | None
) -> tuple[float, float]:
    """Measure models trained per second, one by one and stacked."""
    train_part, valid_part = images(n_images * len(CLASS_NAMES), 0), images(100, 1)
    pool, policy = cadda.image_pool(), None
    if text is not None:
        policy = cadda.Policy(cadda.PolicySpec.from_text(text), pool)
    settings = [
        TrainingSettings(max_epochs=1, batch_size=batch_size, seed=seed)
        for seed in range(n_models)
    ]
    problem = make_problem(train_part, valid_part, model="lenet1", operations=pool, device="cpu")

    def alone() -> None:
        train(problem, settings[0], policy=policy)

    def stacked() -> None:
        train_stacked(problem, settings, [policy] * n_models)

    times = [(seconds_of(alone), seconds_of(stacked)) for _ in range(2)]
    return 1 / min(first for first, _ in times), n_models / min(second for _, second in times)


def ratios() -> Iterator[Ratio]:
    """Compare stacked models with models that are trained one by one, on one thread."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone, stacked = compare(16, 100, BATCHES[0], None)
    finally:
        torch.set_num_threads(n_threads)
    yield Ratio(f"LeNet-1, batch {BATCHES[0]}: stacked / one by one", stacked / alone, 2.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=16)
    parser.add_argument("--images", type=int, default=1000, help="of each class")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = Table(title=f"LeNet-1, {arguments.models} models trained for an epoch, one thread")
    for name in ("batch", "policy", "one by one, per s", "stacked, per s", "ratio"):
        table.add_column(name, justify="right")
    for batch_size in BATCHES:
        for words, text in POLICIES.items():
            alone, stacked = compare(arguments.models, arguments.images, batch_size, text)
            ratio = f"{stacked / alone:.1f}"
            table.add_row(str(batch_size), words, f"{alone:.2f}", f"{stacked:.2f}", ratio)
    Console(highlight=False).print(table)
