"""The record of a race."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from races import SWAP, candidate_row, made_up_race

from cadda.reporting.race import RaceFacts


def race_of(*rows: tuple[str, str, float], **changes: int) -> RaceFacts:
    candidates = tuple(candidate_row(*row, **changes) for row in rows)
    return RaceFacts(candidates, "none", None, 10, 60.0)


def test_running_gains_are_means_up_to_each_block() -> None:
    row = candidate_row("a", "sign_flip p=1", 0.1, n_blocks=5)
    expected = [np.mean(row.gains[:n]) for n in range(1, 6)]
    assert row.running_gains == pytest.approx(expected)
    assert replace(row, gains=()).running_gains == ()


def test_best_candidate_of_each_operation_alone() -> None:
    facts = race_of(
        ("chain", "sign_flip p=1 > time_mask p=0.5 m=1", 0.9),
        ("alternatives", "sign_flip p=1 | time_mask p=0.5 m=1", 0.8),
        ("none", "none", 0.0),
        ("flip often", "sign_flip p=1", 0.1),
        ("flip seldom", "sign_flip p=0.5", 0.2),
        ("mirror", "channel_symmetry p=0.5", -0.1),
        ("mirror ->", f"channel_symmetry p=0.5 {SWAP}", 0.3),
        ("own", "my_operation p=0.5 m=1", 0.05),
    )
    assert {name: row.name for name, row in facts.operations.items()} == {
        "channel_symmetry (left_fist ↔ right_fist)": "mirror ->",
        "sign_flip": "flip seldom",
        "my_operation": "own",
        "channel_symmetry": "mirror",
    }
    gains = [row.gain for row in facts.operations.values()]
    assert gains == sorted(gains, reverse=True)


def test_operations_that_were_never_trained_have_no_gain() -> None:
    assert race_of(("flip", "sign_flip p=1", 0.1), n_blocks=0).operations == {}


def test_decision_is_of_other_blocks() -> None:
    facts = made_up_race()
    assert facts.decision is facts.verdict
    # Nothing was chosen: the verdict is about the closest candidate, in the same blocks.
    rows = [
        replace(row, status="dropped" if row.status == "chosen" else row.status)
        for row in facts.candidates
    ]
    assert replace(facts, candidates=tuple(rows)).decision is None
    assert replace(facts, verdict=None).decision is None


def test_those_in_the_race_and_the_others() -> None:
    facts = made_up_race()
    assert facts.survivors + facts.dropped == facts.candidates
    assert {row.status for row in facts.survivors} == {"racing", "chosen"}
    assert facts.runs_per_minute == 30


def test_saved_and_loaded(tmp_path: Path) -> None:
    facts = made_up_race()
    facts.save(tmp_path / "race.json")
    assert RaceFacts.load(tmp_path / "race.json") == facts


def test_runner_up_of_no_augmentation() -> None:
    assert made_up_race().runner_up is None
    facts = made_up_race(is_gain=False)
    assert facts.verdict is not None
    assert facts.runner_up is not None
    assert facts.runner_up.name == facts.verdict.candidate
    undecided = replace(facts, verdict=None)
    assert undecided.runner_up == facts.candidates[0]
    twice = race_of(("none", "none", 0.0), ("every window twice", "none", 0.1))
    assert twice.runner_up is None
    assert race_of(("none", "none", 0.0), ("flip", "sign_flip p=1", -0.1)).runner_up is None
