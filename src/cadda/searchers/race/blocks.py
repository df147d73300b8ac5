r"""Blocks: training runs that differ in the policy only.

A block has training and validation subjects and a seed. All candidates are trained in it from the
same initial weights with the same batches, so that the difficulty of its subjects cancels in the
difference between two candidates.

Candidates are ranked by the validation loss of their best epoch. Since validation has chosen that
epoch, accuracies of the same windows would be too good. To measure what a candidate gains on new
subjects, each validation subject is therefore scored at the epoch that is best for the *other*
validation subjects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda._internal.rows import join
from cadda._internal.text import short_reason
from cadda.policies.schedule import build_policy
from cadda.searchers.race.candidates import Candidate
from cadda.searchers.trials.protocol import one_thread
from cadda.training import Problem, Samples, Trainer, TrainingSettings

__all__ = [
    "Block",
    "RunScore",
    "block_problem",
    "count_windows",
    "cross_fitted",
    "make_block",
    "n_rotation",
    "run_candidate",
]

VALID_SHARE = 1 / 3
"""Share of the subjects that validate in each block."""


@dataclass(frozen=True)
class Block:
    """A split of the subjects, and a seed."""

    number: int
    valid: tuple[str, ...]  # validation subjects, in alphabetical order
    seed: int


@dataclass(frozen=True)
class RunScore:
    """Scores of one training run on the validation subjects of its block."""

    loss: float  # of the best epoch; infinite for a run that failed
    correct: tuple[tuple[int, ...], ...]  # windows by subject and class, see `cross_fitted`
    seconds: float
    failure: str | None = None


def n_rotation(n_subjects: int) -> int:
    """Return the number of blocks after which all subjects have validated equally often."""
    return -(-n_subjects // _n_valid(n_subjects))


def _n_valid(n_subjects: int) -> int:
    # Two validate each other's epochs.
    return min(max(2, round(n_subjects * VALID_SHARE)), n_subjects // 2)


def make_block(subjects: tuple[str, ...], number: int, seed: int) -> Block:
    """Return a block; validation rotates through all subjects, then in another order.

    The last block of a rotation has fewer validation subjects of its own and borrows from the
    first.
    """
    turn, place = divmod(number, n_rotation(len(subjects)))
    seeds = Seeds(seed)
    order = torch.randperm(len(subjects), generator=seeds.stream("rotation", turn=turn)).tolist()
    n_valid = _n_valid(len(subjects))
    chosen = [order[i % len(order)] for i in range(place * n_valid, (place + 1) * n_valid)]
    valid = tuple(sorted(subjects[i] for i in chosen))
    return Block(number, valid, seeds.integer("block", number=number))


def block_problem(usable: Problem, block: Block, *, repeats: int = 1) -> Problem:
    """Split the windows that may be used, all in the training part of a problem."""
    is_valid = torch.from_numpy(np.isin(usable.train.subject, block.valid))
    train = usable.train.without(is_valid.nonzero().flatten())
    valid = usable.train.without((~is_valid).nonzero().flatten())
    if repeats > 1:
        train = Samples(
            join([train.x] * repeats), torch.cat([train.y] * repeats), train.subject * repeats
        )
    return replace(usable, train=train, valid=valid)


def run_candidate(
    usable: Problem, block: Block, candidate: Candidate, training: TrainingSettings
) -> RunScore:
    """Train with a candidate in a block; this is what workers do."""
    start = perf_counter()
    # A model of the user's own can raise anything; one bad run must not end the race.
    try:
        with one_thread():
            problem = block_problem(usable, block, repeats=candidate.repeats)
            policy = build_policy(candidate.policy, usable.pool)
            trainer = _RecordingTrainer(problem, replace(training, seed=block.seed), policy)
            loss = trainer.run().best.valid_loss
            correct = cross_fitted(torch.stack(trainer.logits), problem.valid)
    except Exception as error:
        failure = f"{type(error).__name__}: {short_reason(error)}"
        return RunScore(math.inf, (), perf_counter() - start, failure)
    return RunScore(loss, tuple(map(tuple, correct.tolist())), perf_counter() - start)


class _RecordingTrainer(Trainer):
    """Keeps the logits of the validation windows after each epoch."""

    logits: list[Tensor]

    def validate(self, logits: Tensor) -> tuple[float, float]:
        self.logits = [*getattr(self, "logits", ()), logits]
        return super().validate(logits)


def cross_fitted(logits: Tensor, valid: Samples) -> NDArray[np.int64]:
    """Count the windows that are recognised at the epoch with the lowest loss of other subjects.

    Parameters
    ----------
    logits : Tensor
        Logits of shape (n_epochs, n_windows, n_classes).
    valid : Samples
        The windows.

    Returns
    -------
    array of shape (n_subjects, n_classes)
        Number of windows that are recognised, by subject, in alphabetical order, and class.
    """
    n_epochs, _, n_classes = logits.shape
    labels = valid.y.expand(n_epochs, -1)
    loss = cross_entropy(logits.movedim(-1, 1), labels, reduction="none").double()
    by_subject = loss @ _is_of_subject(valid).T
    others = by_subject.sum(1, keepdim=True) - by_subject
    # A single subject has no others.
    best = (others if by_subject.shape[1] > 1 else by_subject).argmin(0)
    return count_windows((logits.argmax(-1) == valid.y)[best], valid, n_classes)


def count_windows(is_counted: Tensor, samples: Samples, n_classes: int) -> NDArray[np.int64]:
    """Count windows by subject, in alphabetical order, and class.

    ``is_counted`` has the shape (n_windows,), or (n_subjects, n_windows) if subjects differ in it.
    """
    is_of_class = torch.nn.functional.one_hot(samples.y, n_classes).double()
    counts = (is_counted * _is_of_subject(samples)) @ is_of_class
    whole: NDArray[np.int64] = counts.long().numpy()
    return whole


def _is_of_subject(samples: Samples) -> Tensor:
    """Return 1 where a window, a column, is of a subject, a row; subjects are sorted."""
    return torch.from_numpy(np.unique(samples.subject)[:, None] == samples.subject).double()
