"""Blocks pair candidates: the same subjects, weights and batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from cadda import PolicySpec, TrainingSettings
from cadda.api.prepare import make_problem
from cadda.searchers.race.blocks import (
    block_problem,
    cross_fitted,
    make_block,
    n_rotation,
    run_candidate,
)
from cadda.searchers.race.candidates import DUPLICATES, NONE, Candidate, Level
from cadda.searchers.race.runner import usable_problem
from cadda.testing.planted import planted_network, planted_windows
from cadda.training import Problem, Samples, train

QUICK = TrainingSettings(max_epochs=3, batch_size=16)


def usable(model: object = planted_network) -> Problem:
    parts = (planted_windows(48, varied=varied) for varied in (False, True))
    return usable_problem(make_problem(*parts, model=model, operations=["sign_flip", "time_mask"]))


@pytest.mark.parametrize("n_subjects", [2, 3, 4, 5, 6, 7, 12, 19])
def test_every_subject_validates_once_per_rotation(n_subjects: int) -> None:
    subjects = tuple(f"s{i}" for i in range(n_subjects))
    n_blocks = n_rotation(n_subjects)
    for turn in range(3):
        blocks = [make_block(subjects, turn * n_blocks + i, seed=3) for i in range(n_blocks)]
        counts = Counter(name for block in blocks for name in block.valid)
        sizes = {len(block.valid) for block in blocks}
        assert set(counts) == set(subjects)
        assert sum(counts.values()) - n_subjects < len(blocks[0].valid)  # only the last borrows
        assert len(sizes) == 1
        assert all(len(set(block.valid)) == len(block.valid) for block in blocks)
    assert len(blocks[0].valid) == 1 or n_subjects > 3


def test_blocks_differ_in_seed_and_turns_in_order() -> None:
    subjects = tuple("abcdefghi")
    blocks = [make_block(subjects, i, seed=0) for i in range(12)]
    assert len({block.seed for block in blocks}) == 12
    assert len({block.valid for block in blocks}) > 6
    assert blocks == [make_block(subjects, i, seed=0) for i in range(12)]
    assert blocks[0] != make_block(subjects, 0, seed=1)


def test_parts_of_a_block_have_all_windows_and_share_no_subject() -> None:
    problem = usable()
    block = make_block(tuple(sorted(set(problem.train.subject))), 1, seed=0)
    part = block_problem(problem, block)
    assert set(part.valid.subject) == set(block.valid)
    assert set(part.train.subject).isdisjoint(block.valid)
    assert len(part.train) + len(part.valid) == len(problem.train) == 96
    assert len(block_problem(problem, block, repeats=2).train) == 2 * len(part.train)


def test_a_run_is_an_ordinary_training_run() -> None:
    problem = usable()
    block = make_block(tuple(sorted(set(problem.train.subject))), 0, seed=0)
    alone = train(block_problem(problem, block), replace(QUICK, seed=block.seed))
    assert run_candidate(problem, block, NONE, QUICK).loss == alone.best.valid_loss
    twice = train(block_problem(problem, block, repeats=2), replace(QUICK, seed=block.seed))
    assert run_candidate(problem, block, DUPLICATES, QUICK).loss == twice.best.valid_loss


def test_candidates_of_a_block_differ_in_the_policy_only() -> None:
    problem = usable()
    block = make_block(tuple(sorted(set(problem.train.subject))), 0, seed=0)
    idle = Candidate("idle", PolicySpec.from_text("sign_flip p=0"), Level.SINGLE)
    flip = Candidate("flip", PolicySpec.from_text("sign_flip p=1"), Level.SINGLE)
    none, same, other = (run_candidate(problem, block, item, QUICK) for item in (NONE, idle, flip))
    assert none.loss == same.loss
    assert none.correct == same.correct
    assert none.loss != other.loss


def test_a_run_that_fails_says_why() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("out of memory")

    problem = usable(lambda *_: Broken())
    block = make_block(tuple(sorted(set(problem.train.subject))), 0, seed=0)
    score = run_candidate(problem, block, NONE, QUICK)
    assert score.failure is not None
    assert score.failure.startswith("ModelError: the model gave no output for windows of shape")
    assert score.failure.endswith("RuntimeError, out of memory")
    assert score.loss == float("inf")


def test_subjects_are_scored_at_the_best_epoch_of_others() -> None:
    rng = np.random.default_rng(0)
    subject = tuple("ccaabbbac")
    y = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2])
    logits = torch.from_numpy(rng.normal(size=(7, 9, 3))).float()
    expected = np.zeros((3, 3), dtype=int)
    for row, name in enumerate("abc"):
        mine = [i for i in range(9) if subject[i] == name]
        others = [i for i in range(9) if subject[i] != name]
        losses = [float(cross_entropy(epoch[others], y[others])) for epoch in logits]
        best = logits[int(np.argmin(losses))]
        for i in mine:
            expected[row, y[i]] += int(best[i].argmax() == y[i])
    samples = Samples(torch.zeros(9, 1, 1), y, subject)
    assert cross_fitted(logits, samples).tolist() == expected.tolist()


def test_a_single_subject_is_scored_at_its_own_best_epoch() -> None:
    y = torch.tensor([0, 1])
    good, bad = torch.tensor([[5.0, 0], [0, 5.0]]), torch.tensor([[0, 5.0], [5.0, 0]])
    samples = Samples(torch.zeros(2, 1, 1), y, ("a", "a"))
    assert cross_fitted(torch.stack([bad, good, bad]), samples).tolist() == [[1, 1]]
