"""Records that a run keeps for its report, beside policy, model and events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from cadda._internal.files import write_text_atomically
from cadda.data.windows import Windows
from cadda.operations.pool import OperationPool
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.records import DataFacts, Part, Predictions, SplitFractions
from cadda.runs.examples import make_examples
from cadda.runs.folder import RunFolder, digest_of
from cadda.training import Problem, Scores, predict_logits, score

__all__ = ["RunScores", "WindowSplit", "write_run_records"]


@dataclass(frozen=True, eq=False)
class WindowSplit:
    """The windows of a run, split by subject."""

    train: Windows
    valid: Windows
    test: Windows
    fractions: SplitFractions

    @classmethod
    def make(cls, windows: Windows, *, valid: float, test: float, seed: int) -> Self:
        """Split windows."""
        parts = windows.split(valid=valid, test=test, seed=seed)
        return cls(*parts, SplitFractions(valid, test, seed))

    @cached_property
    def test_digest(self) -> str:
        """SHA-256 of the test windows; a `Problem` has those of the other parts."""
        return digest_of(self.test)


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores on the test subjects, with the policy and without augmentation."""

    test_subjects: tuple[str, ...]
    scores: Scores
    without_augmentation: Scores | None

    def save(self, path: Path) -> None:
        """Write the scores as JSON, those of the model of the run at the top level."""
        plain = self.without_augmentation
        content = self.scores.to_dict() | {
            "test_subjects": self.test_subjects,
            "without_augmentation": None if plain is None else plain.to_dict(),
        }
        write_text_atomically(path, json.dumps(content, indent=1))


def write_run_records(
    run: RunFolder,
    split: WindowSplit,
    problem: Problem,
    pool: OperationPool,
    policy: PolicySpec | None,
    model: nn.Module,
    baseline: nn.Module | None = None,
) -> RunScores:
    """Test the model, and the one without augmentation; write data, predictions and scores."""
    _data_facts(split, problem, pool).save(run.data)
    test = split.test
    labels, plain = _predict(model, test), None if baseline is None else _predict(baseline, test)
    Predictions(
        subject=test.subject,
        recording=test.recording,
        position=_positions(test),
        truth=test.y.numpy(),
        predicted=labels,
        without_augmentation=plain,
    ).save(run.predictions)
    examples = None if policy is None else make_examples(policy, split.train, pool)
    if examples is not None:
        examples.save(run.examples)
    scores = RunScores(
        test_subjects=tuple(test.subjects),
        scores=score(test.y, labels, test.class_names),
        without_augmentation=None if plain is None else score(test.y, plain, test.class_names),
    )
    scores.save(run.scores)
    return scores


def _data_facts(split: WindowSplit, problem: Problem, pool: OperationPool) -> DataFacts:
    train = split.train

    def part(windows: Windows, digest: str) -> Part:
        return Part(tuple(windows.subjects), tuple(windows.class_counts().tolist()), digest)

    return DataFacts(
        sfreq=train.sfreq,
        n_times=train.n_times,
        ch_names=tuple(train.ch_names),
        class_names=tuple(train.class_names),
        left_out=dict(pool.left_out),
        split=split.fractions,
        parts={
            "train": part(train, problem.train.digest),
            "valid": part(split.valid, problem.valid.digest),
            "test": part(split.test, split.test_digest),
        },
    )


def _predict(model: nn.Module, windows: Windows) -> NDArray[np.int64]:
    return predict_logits(model, windows.x, windows.n_classes).argmax(1).numpy()


def _positions(windows: Windows) -> NDArray[np.int64]:
    """Return the number of each window within its recording, from 0."""
    positions = np.zeros(len(windows), dtype=np.int64)
    seen: dict[tuple[str, str], int] = {}
    for i, key in enumerate(zip(windows.subject, windows.recording, strict=True)):
        positions[i] = seen.get(key, 0)
        seen[key] = positions[i] + 1
    return positions
