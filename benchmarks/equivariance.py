"""What operations that change the class are worth where training data are few.

Left and right exchanged, an imagined left fist is an imagined right one; turned upside down, a 6
is a 9. ``python -m benchmarks equivariance motor-imagery executed-fists mnist --folder DIR``
trains on few subjects (``motor-imagery-epo.fif.gz``, ``executed-fists-epo.fif.gz``) or few images
(``mnist/``) and tests on all others; ``motor-imagery-4hz`` is the same without activity below
4 Hz, and ``simulated-fists`` needs no folder. In each draw of
subjects or images, the same seed trains

- without augmentation (``none``), and on every window twice (``twice``), because twice as many
  steps per epoch may help by themselves
- with operations that keep the label, one by one; the best of them is the one with the lowest
  validation loss of the draw
- with the operation and its label map (``mapped``), and with one more operation
- with the policy that ADDA finds after a probe of the training subjects (``search``), or of the
  validation subjects too (``search, all probed``).

Four more subjects (20 more images of each digit) are for early stopping; training sets of a draw
are nested. Results are kept in ``benchmarks/results/equivariance.jsonl``; a rerun computes what is
missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import cadda
from benchmarks.panel_sets import highpassed
from benchmarks.records import Records
from cadda._internal.statistics import PairedTest, corrected_t_test
from cadda.data.datasets.mnist import read_mnist
from cadda.data.windows import Windows
from cadda.operations.pool import OperationPool
from cadda.operations.pools import image_pool

N_DRAWS = 10
N_SEARCH_EPOCHS = 40
N_VALID_SUBJECTS = 4
N_VALID_IMAGES = 20
DIGITS = (4, 6, 8, 9)
TWICE = "twice"
SEARCH = "search"
SEARCH_ALL_PROBED = "search, all probed"
SEARCHES = (SEARCH, SEARCH_ALL_PROBED)
BEST_KEPT = "best kept"
NOT_MAPPED = "labels not mapped"
SWAP = "channel_symmetry p=0.5 -> {left_fist: right_fist, right_fist: left_fist}"
TURN = "rotation_180 p=0.5 -> {6: 9, 9: 6, 8: 8}"

Split = tuple[Windows, Windows, Windows]
Record = dict[str, Any]
Scores = dict[tuple[int, int], float]
"""Balanced accuracy on test windows, by size of the training set and draw."""


class Gain(NamedTuple):
    """A mean difference over draws, and how many of them had a gain."""

    test: PairedTest
    n_better: int
    n_draws: int


@dataclass(frozen=True)
class Study:
    """Data, sizes of training sets, and the policies to train with."""

    title: str
    unit: str
    sizes: tuple[int, ...]
    read: Callable[[Path], Windows]
    split: Callable[[Windows, int, int], Split]
    training: Mapping[str, Any]
    policies: Mapping[str, str]
    """Text of the policy by condition."""
    kept: tuple[str, ...]
    """Conditions of single operations that keep the label."""
    sizes_of: Mapping[str, tuple[int, ...]]
    """Sizes of conditions that not all are for: a warning, searches that need more windows."""
    titles: Mapping[str, str]
    """What tables and figures call the conditions."""
    operations: OperationPool | None = None
    """Operations to search among; None for all that are applicable to the montage."""


def subject_split(windows: Windows, n_train: int, draw: int) -> Split:
    """Draw validation and training subjects, and keep all others for testing."""
    order = np.random.default_rng(draw).permutation(windows.subjects).tolist()
    stop = N_VALID_SUBJECTS + n_train
    train, valid = order[N_VALID_SUBJECTS:stop], order[:N_VALID_SUBJECTS]
    return (
        windows.of_subjects(train),
        windows.of_subjects(valid),
        windows.of_subjects(order[stop:]),
    )


def image_split(windows: Windows, per_class: int, draw: int) -> Split:
    """Draw training and validation images of each digit; the test images are those of MNIST."""
    rng = np.random.default_rng(draw)
    is_test = windows.recording == "test"
    chunk = rng.choice(windows[~is_test].subjects)
    is_valid = windows.subject == chunk
    train = draw_images(windows[~is_test & ~is_valid], per_class, rng)
    return train, draw_images(windows[is_valid], N_VALID_IMAGES, rng), windows[is_test]


def draw_images(images: Windows, per_class: int, rng: np.random.Generator) -> Windows:
    """Draw so many images of each class."""
    order = rng.permutation(len(images))
    labels = images.y.numpy()[order]
    chosen = [order[labels == label][:per_class] for label in range(images.n_classes)]
    return images[np.concatenate(chosen)]


def read_epochs(name: str, folder: Path) -> Windows:
    return cadda.read_windows(folder / f"{name}-epo.fif.gz", subject="subject")


def simulate_fists(_folder: Path) -> Windows:
    return cadda.simulate_motor_imagery(60, 45, seed=0)


def read_images(folder: Path) -> Windows:
    return read_mnist(folder / "mnist", digits=DIGITS)


FIST_KEPT = {
    name: f"{name} p=0.5 m=0.5" for name in ("time_mask", "channel_dropout", "rotation_z")
}
"""Best of six operations in draws 100 to 102, which are not among the results."""
FIST_POLICIES = {
    "none": "",
    TWICE: "",
    "mapped": SWAP,
    "mapped, time_mask": f"{SWAP} > {FIST_KEPT['time_mask']}",
    **FIST_KEPT,
    NOT_MAPPED: "channel_symmetry p=0.5",
}
DIGIT_KEPT = {
    "flips of 8": """
        [4]
        vertical_flip p=0
        [6]
        vertical_flip p=0
        [8]
        horizontal_flip p=0.5 > vertical_flip p=0.5
        [9]
        vertical_flip p=0
    """,
    "horizontal_flip": "horizontal_flip p=0.5",
    "vertical_flip": "vertical_flip p=0.5",
}
DIGIT_POLICIES = {
    "none": "",
    TWICE: "",
    "mapped": TURN,
    "mapped, flips of 8": """
        [4]
        vertical_flip p=0
        [6]
        rotation_180 p=0.5 -> 9
        [8]
        horizontal_flip p=0.5 > vertical_flip p=0.5
        [9]
        rotation_180 p=0.5 -> 6
    """,
    **DIGIT_KEPT,
    NOT_MAPPED: "rotation_180 p=0.5",
}
TITLES = {
    "none": "no augmentation",
    TWICE: "no augmentation, every window twice",
    BEST_KEPT: "best operation that keeps the label",
}
SEARCH_TITLES = {
    SEARCH: "policy that ADDA finds after a probe of training subjects",
    SEARCH_ALL_PROBED: "policy that ADDA finds after a probe of all usable subjects",
}
FISTS = Study(
    title="motor imagery, left or right fist",
    unit="training subjects",
    sizes=(4, 8, 12, 24, 36),
    read=partial(read_epochs, "motor-imagery"),
    split=subject_split,
    training={"model": "shallow", "batch_size": 32, "patience": 20, "max_epochs": 120},
    policies=FIST_POLICIES,
    kept=tuple(FIST_KEPT),
    sizes_of={NOT_MAPPED: (12,)},
    titles={
        **TITLES,
        "mapped": "channel symmetry, labels exchanged",
        "mapped, time_mask": "channel symmetry, labels exchanged, and time mask",
        **SEARCH_TITLES,
        NOT_MAPPED: "channel symmetry, labels kept",
    },
)
STUDIES = {
    "motor-imagery": FISTS,
    # What is left without slow activity, which tells left from right in these recordings.
    "motor-imagery-4hz": replace(
        FISTS,
        title="motor imagery above 4 Hz, left or right fist",
        sizes=(4, 12, 36),
        read=lambda folder: highpassed("motor-imagery")(folder, 0),
        policies={name: FIST_POLICIES[name] for name in ("none", TWICE, "mapped")},
        kept=(),
        sizes_of=dict.fromkeys(SEARCHES, ()),
    ),
    "executed-fists": replace(
        FISTS,
        title="executed movements, left or right fist",
        sizes=(4, 12),
        read=partial(read_epochs, "executed-fists"),
    ),
    "simulated-fists": replace(
        FISTS,
        title="simulated motor imagery, left or right fist",
        sizes=(4, 8, 12),
        read=simulate_fists,
    ),
    "mnist": Study(
        title="MNIST, digits 4, 6, 8 and 9",
        unit="training images per digit",
        sizes=(5, 10, 20, 50, 100),
        read=read_images,
        split=image_split,
        training={"model": "lenet1", "batch_size": 16, "patience": 20, "max_epochs": 200},
        policies=DIGIT_POLICIES,
        kept=tuple(DIGIT_KEPT),
        sizes_of={NOT_MAPPED: (20,), SEARCH: (20, 50, 100), SEARCH_ALL_PROBED: ()},
        titles={
            **TITLES,
            "mapped": "rotation by 180°, 6 ↔ 9",
            "mapped, flips of 8": "rotation by 180°, 6 ↔ 9, and flips of 8",
            **SEARCH_TITLES,
            NOT_MAPPED: "rotation by 180°, labels kept",
        },
        operations=image_pool(),
    ),
}


def run(study: Study, condition: str, split: Split, seed: int) -> Record:
    """Train under a condition, and test."""
    start = perf_counter()
    train, valid, test = split
    found = find_policy(study, condition, split, seed) if condition in SEARCHES else None
    text = study.policies.get(condition)
    policy = found or (cadda.PolicySpec.from_text(text) if text else None)
    if condition == TWICE:
        train = train[np.tile(np.arange(len(train)), 2)]
    fitted = cadda.fit(train, valid, policy=policy, copies=0, seed=seed, **study.training)
    made = {
        "balanced_accuracy": round(cadda.evaluate(fitted, test).balanced_accuracy, 4),
        "valid_loss": round(fitted.best.valid_loss, 4),
        "best_epoch": fitted.best_epoch,
        "n_epochs": len(fitted.history),
        "n_windows": [len(train), len(valid), len(test)],
        "seconds": round(perf_counter() - start, 1),
    }
    return made if found is None else made | {"applied": operation_use(found)}


def find_policy(study: Study, condition: str, split: Split, seed: int) -> cadda.PolicySpec:
    """Search with the label maps that a probe proposes."""
    train, valid, _ = split
    common = {"model": study.training["model"], "operations": study.operations, "seed": seed}
    probe = condition == SEARCH or cadda.probe(joined(train, valid), **common)
    return cadda.search(
        train,
        valid,
        method="adda",
        batch_size=study.training["batch_size"],
        budget=N_SEARCH_EPOCHS,
        probe=probe,
        **common,
        retrain=False,
        baseline=False,
    ).policy


def joined(first: Windows, second: Windows) -> Windows:
    """Return the windows of both."""
    return Windows(
        torch.cat([first.x, second.x]),
        torch.cat([first.y, second.y]),
        subject=np.concatenate([first.subject, second.subject]),
        sfreq=first.sfreq,
        ch_names=first.ch_names,
        class_names=first.class_names,
    )


def operation_use(policy: cadda.PolicySpec) -> dict[str, float]:
    """Return how often each operation is applied."""
    shares = policy.operation_probabilities().mean(0).round(3).tolist()
    return dict(zip(policy.operation_names, shares, strict=True))


def plan(sizes: Sequence[int], draws: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield sizes and draws, half of the draws at every size before the other half at any."""
    half = (len(draws) + 1) // 2
    for part in (draws[:half], draws[half:]):
        yield from product(sizes, part)


def scores(records: Sequence[Record], name: str, condition: str) -> Scores:
    """Collect the balanced accuracies of a condition, or of the best operation of each draw."""
    conditions = STUDIES[name].kept if condition == BEST_KEPT else (condition,)
    trained: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        if record["study"] == name and record["condition"] in conditions:
            trained.setdefault((record["size"], record["draw"]), []).append(record)
    return {
        key: min(group, key=lambda record: record["valid_loss"])["balanced_accuracy"]
        for key, group in sorted(trained.items())
        if len(group) == len(conditions)
    }


def compare(condition: Scores, reference: Scores, size: int) -> Gain | None:
    """Test the gain at one size, paired by draw; None with fewer than two draws."""
    draws = [key for key in condition if key in reference and key[0] == size]
    gains = [condition[key] - reference[key] for key in draws]
    if len(gains) < 2:
        return None
    return Gain(corrected_t_test(gains), sum(gain > 0 for gain in gains), len(gains))


def mean_by_size(made: Scores) -> dict[int, float]:
    """Return the mean over draws at each size."""
    sizes = dict.fromkeys(size for size, _ in made)
    return {size: float(np.mean([made[key] for key in made if key[0] == size])) for size in sizes}


def summary(records: Sequence[Record], name: str) -> Table:
    """Return the mean balanced accuracy by condition and size, with the gain over none."""
    study = STUDIES[name]
    table = Table(title=f"{study.title}: balanced accuracy, gain over none, draws with a gain")
    for column in (study.unit, *map(str, study.sizes)):
        table.add_column(column)
    plain = scores(records, name, "none")
    for condition in (*study.policies, *SEARCHES, BEST_KEPT):
        made = scores(records, name, condition)
        cells = []
        for size in study.sizes:
            mean, gain = mean_by_size(made).get(size), compare(made, plain, size)
            cell = "" if mean is None else f"{mean:.3f}"
            if gain and condition != "none":
                cell += f" {gain.test.difference.value:+.3f} {gain.n_better}/{gain.n_draws}"
            cells.append(cell)
        table.add_row(condition, *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--conditions", nargs="+", help="only these conditions")
    parser.add_argument("--sizes", type=int, nargs="+", help="only these sizes")
    parser.add_argument("--draws", type=int, nargs="+", default=range(N_DRAWS))
    arguments = parser.parse_args()
    records, console = Records("equivariance"), Console(highlight=False)
    for name in arguments.studies:
        study = STUDIES[name]
        windows = study.read(arguments.folder)
        for size, draw in plan(arguments.sizes or study.sizes, arguments.draws):
            split = study.split(windows, size, draw)
            for condition in arguments.conditions or (*study.policies, *SEARCHES):
                if size not in study.sizes_of.get(condition, study.sizes):
                    continue
                made = records.get(
                    partial(run, study, condition, split, draw),
                    study=name,
                    condition=condition,
                    size=size,
                    draw=draw,
                )
                console.print(f"{name} {size} {draw} {condition}: {made['balanced_accuracy']:.3f}")
        console.print(summary(records.all(), name))
