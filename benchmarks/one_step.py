"""What one training step says about policies, against what full training runs say.

``python -m benchmarks one_step --race RUN/race.json --folder DIR`` takes a race of a cell of the
panel (``--set``, ``--usable``, ``--draw``) and, in each rotation of its usable subjects, trains a
model without augmentation. After some epochs it augments the training windows with each candidate
of the race, a few times, and computes their paired one-step rewards: reward of the augmented
window minus that of the same window left as it is, as searches by gradients do. Beside the
candidates run two controls that destroy windows: white noise of equal power, and blocks of 0.1 s
in random order. Results are kept in ``benchmarks/results/one_step.jsonl``, and shown by ``docs/
one_step_picture.py`` and ``docs/one_step_results.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import cadda
from benchmarks.panel_sets import N_ROTATIONS, SETS, Cell
from benchmarks.records import Records
from cadda._internal.random import Seeds
from cadda.api.prepare import make_problem
from cadda.policies.schedule import build_policy
from cadda.reporting.race import CandidateRow, RaceFacts
from cadda.searchers.gradient.reward import Weights, loss_gradient, weights_of, window_rewards
from cadda.training import Problem, predict_logits
from cadda.training.step import score_validation

EPOCHS = (3, 8, 20, 40)
"""When rewards are computed; the model overfits more and more."""
N_DRAWS = 2
"""How often each candidate augments all training windows."""
SMOOTHING = 5
"""Epochs that the running mean of the weights goes back, as in searches."""
BLOCK_SECONDS = 0.1

Augment = Callable[[Tensor, Tensor, torch.Generator], tuple[Tensor, Tensor]]


def white_noise(x: Tensor, y: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Replace windows by white noise that has the power of each channel."""
    return torch.randn(x.shape, generator=generator) * x.std(-1, keepdim=True), y


def scrambled(sfreq: float) -> Augment:
    """Return what puts blocks of windows in random order."""
    length = max(1, round(BLOCK_SECONDS * sfreq))

    def apply(x: Tensor, y: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        n_blocks = x.shape[-1] // length
        order = torch.rand(len(x), n_blocks, generator=generator).argsort(1)
        blocks = x[..., : n_blocks * length].unflatten(-1, (n_blocks, length))
        index = order[:, None, :, None].expand_as(blocks)
        mixed = blocks.gather(2, index).flatten(2)
        return torch.cat([mixed, x[..., n_blocks * length :]], -1), y

    return apply


def from_policy(row: CandidateRow, problem: Problem) -> Augment:
    policy = build_policy(cadda.PolicySpec.from_text(row.policy), problem.pool)

    def apply(x: Tensor, y: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        changed, labels = policy(x, y, generator=generator)
        assert labels is not None  # noqa: S101
        return changed, labels

    return apply


def training(
    problem: Problem, lr: float, batch_size: int, seed: int
) -> Iterator[tuple[nn.Module, Weights]]:
    """Train without augmentation; yield model and mean weights after each epoch."""
    model = problem.new_model(Seeds(seed).integer("model"))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    mean = {name: value.clone() for name, value in weights_of(model).items()}
    n, step = len(problem.train), 0
    for epoch in range(max(EPOCHS)):
        model.train()
        order = torch.randperm(n, generator=Seeds(seed).stream("order", epoch=epoch))
        for index in order.split(batch_size):
            step += 1
            x, y = problem.training_batch(index)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            length = min(step, SMOOTHING * np.ceil(n / batch_size))
            for name, value in weights_of(model).items():
                mean[name].lerp_(value, 1 / length)
        yield model.eval(), mean


def rewards_after(
    model: nn.Module, weights: Weights, problem: Problem, ways: dict[str, Augment], seed: int
) -> dict[str, Any]:
    """Compute the paired rewards of all ways to augment, at one moment of training."""
    x, y = problem.training_batch(torch.arange(len(problem.train)))
    _, direction = loss_gradient(
        model, weights, problem.valid.x, problem.valid.y, noise_seed=0, confidence="remove"
    )

    def rewards(windows: Tensor, labels: Tensor) -> np.ndarray:
        with torch.no_grad():
            found = window_rewards(
                model, weights, direction, windows, labels,
                method="finite-difference", noise_seed=0,
            )  # fmt: skip
        return found.numpy()

    unchanged, subjects = rewards(x, y), np.array(problem.train.subject)
    found = {}
    for name, augment in ways.items():
        gain = np.mean(
            [
                rewards(*augment(x, y, Seeds(seed).stream(name, draw=draw))) - unchanged
                for draw in range(N_DRAWS)
            ],
            axis=0,
        )
        by_subject = [gain[subjects == subject].mean() for subject in np.unique(subjects)]
        found[name] = {
            "reward": float(gain.mean()),
            "error": float(gain.std() / np.sqrt(len(gain))),
            "by_subject": [float(value) for value in by_subject],
            "by_class": [float(gain[(y == c).numpy()].mean()) for c in range(problem.n_classes)],
        }
    by_class = [float(unchanged[(y == c).numpy()].mean()) for c in range(problem.n_classes)]
    loss, accuracy = score_validation(
        problem, predict_logits(model, problem.valid.x, problem.n_classes)
    )
    logits = predict_logits(model, x, problem.n_classes)
    return {
        "valid_loss": loss,
        "valid_accuracy": accuracy,
        "train_accuracy": float((logits.argmax(1) == y).float().mean()),
        "unchanged": by_class,
        "rewards": found,
    }


def run(cell: Cell, rotation: int, race: RaceFacts, folder: Path) -> dict[str, Any]:
    """Train in one rotation, and compute rewards as training goes on."""
    parts, settings = cell.parts(folder, rotation), cell.data.training
    problem = make_problem(parts.train, parts.valid, model=cell.data.model, device="cpu")
    rows = [row for row in race.candidates if row.name != "none"]
    ways: dict[str, Augment] = {row.name: from_policy(row, problem) for row in rows}
    ways |= {"white noise": white_noise, "scrambled blocks": scrambled(parts.train.sfreq)}
    moments = []
    for epoch, (model, weights) in enumerate(
        training(problem, settings.lr, settings.batch_size, rotation), start=1
    ):
        if epoch in EPOCHS:
            moments.append({"epoch": epoch} | rewards_after(model, weights, problem, ways, epoch))
    return {
        "n_windows": len(problem.train),
        "n_draws": N_DRAWS,
        "gains": {row.name: [row.gain, row.error, row.n_blocks] for row in rows},
        "moments": moments,
    }


@dataclass(frozen=True)
class Agreement:
    """How rewards at a moment of training agree with the gains of full training runs."""

    rank_correlation: float
    below_noise: float  # share of the candidates whose reward is below that of white noise

    @classmethod
    def of(cls, gains: dict[str, Any], moment: dict[str, Any]) -> Agreement:
        """Compare the rewards of a moment with the gains of a record."""
        rewards = {name: value["reward"] for name, value in moment["rewards"].items()}
        mine = [rewards[name] for name in gains]
        rank = spearmanr([gain for gain, _, _ in gains.values()], mine)[0]
        return cls(float(rank), float(np.mean(np.array(mine) < rewards["white noise"])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--race", type=Path, required=True)
    parser.add_argument("--set", default="motor-imagery", choices=SETS)
    parser.add_argument("--usable", type=int, default=6)
    parser.add_argument("--draw", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cell = Cell(arguments.set, arguments.usable, arguments.draw)
    race, console = RaceFacts.load(arguments.race), Console(highlight=False)
    for rotation in range(N_ROTATIONS):
        made = Records("one_step").get(
            lambda r=rotation: run(cell, r, race, arguments.folder), **cell.key, rotation=rotation
        )
        for moment in made["moments"]:
            agreement = Agreement.of(made["gains"], moment)
            console.print(
                f"rotation {rotation}, epoch {moment['epoch']}: training accuracy "
                f"{moment['train_accuracy']:.2f}, validation {moment['valid_accuracy']:.2f}; rank "
                f"correlation with gains {agreement.rank_correlation:+.2f}; "
                f"{agreement.below_noise:.0%} of the candidates below white noise"
            )
