"""Statistics of a race against closed forms and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cadda.searchers.race.blocks import Block, RunScore
from cadda.searchers.race.paired import (
    accuracy_gain,
    clustered_gain,
    is_worse,
    loss_gains,
    subject_gains,
    within_one_error,
)


def score(loss: float, *correct: tuple[int, ...]) -> RunScore:
    return RunScore(loss, correct, 1.0)


def test_gains_are_differences_of_log_losses() -> None:
    plain, better = [score(0.8), score(0.5)], [score(0.4), score(0.5), score(0.1)]
    assert loss_gains(better, plain).tolist() == pytest.approx([math.log(2), 0])


def test_the_error_is_that_over_subjects_and_that_over_blocks() -> None:
    # Every subject validates once with the same number of windows: usual errors of means.
    rng = np.random.default_rng(1)
    n_windows = {f"s{i}": np.array([10, 10]) for i in range(6)}
    blocks = [Block(i, (f"s{2 * i}", f"s{2 * i + 1}"), 0) for i in range(3)]
    first, second = rng.integers(0, 11, size=(2, 3, 2, 2))
    runs, plains = (
        [score(1.0, *map(tuple, table.tolist())) for table in tables] for tables in (first, second)
    )
    gain = accuracy_gain(runs, plains, blocks, n_windows)
    by_subject = ((first - second) / 10).mean(-1)
    error = math.hypot(stats.sem(by_subject.ravel()), stats.sem(by_subject.mean(-1)))
    low, high = stats.t.interval(0.9, 2, loc=by_subject.mean(), scale=error)
    assert gain.value == pytest.approx(by_subject.mean())
    assert gain.error == pytest.approx(error)
    assert (gain.interval.low, gain.interval.high) == pytest.approx((low, high))
    assert gain.n_subjects == 6


def test_one_block_has_no_interval() -> None:
    n_windows = {f"s{i}": np.array([10, 10]) for i in range(4)}
    block = Block(0, ("s0", "s1"), 0)
    gain = accuracy_gain(
        [score(1.0, (7, 8), (9, 5))], [score(1.0, (6, 8), (6, 5))], [block], n_windows
    )
    assert gain.value == pytest.approx(0.1)
    assert not gain.interval.is_bounded


def test_accuracy_gain_is_balanced_over_classes_and_skips_absent_ones() -> None:
    n_windows = {"a": np.array([8, 2, 0]), "b": np.array([4, 4, 0])}
    blocks = [Block(0, ("a",), 0), Block(1, ("b",), 0)]
    runs = [score(1.0, (6, 2, 0)), score(1.0, (4, 1, 0))]
    plains = [score(1.0, (5, 0, 0)), score(1.0, (3, 1, 0))]
    gain = accuracy_gain(runs, plains, blocks, n_windows)
    assert gain.value == pytest.approx((2 / 12 + 2 / 6) / 2)


def test_the_mean_over_subjects_is_the_gain_whatever_windows_they_have() -> None:
    rng = np.random.default_rng(0)
    total = rng.integers(0, 9, size=(7, 3)).astype(float)
    total[:, 2] = 0
    gained = rng.integers(-9, 9, size=(2, 7, 3)) * (total > 0)
    values = [clustered_gain(table, total, n_train=5).value for table in gained.astype(float)]
    assert subject_gains(gained.astype(float), total).mean(-1) == pytest.approx(values)


def test_no_interval_with_a_single_subject() -> None:
    gain = accuracy_gain(
        [score(1.0, (2, 2))],
        [score(1.0, (1, 1))],
        [Block(0, ("a",), 0)],
        {"a": np.array([2, 2]), "b": np.array([2, 2])},
    )
    assert math.isnan(gain.error)
    assert not gain.is_gain
    assert not gain.interval.is_bounded


def test_agreement_of_few_windows_is_no_interval() -> None:
    """Two subjects that gain one window of four each show nothing of the spread."""
    n_windows = {"a": np.array([2, 2]), "b": np.array([2, 2])}
    blocks = [Block(i, ("a", "b"), i) for i in range(3)]
    plain, better = [score(1.0, (1, 1), (1, 1))] * 3, [score(1.0, (2, 1), (2, 1))] * 3
    gain = accuracy_gain(better, plain, blocks, n_windows)
    assert (gain.value, gain.error) == (0.25, 0.0)
    assert math.isnan(gain.interval.low)
    assert not gain.is_gain
    same = accuracy_gain(plain, plain, blocks, n_windows)
    assert (same.interval.low, same.interval.high) == (0.0, 0.0)


@pytest.mark.parametrize("n_candidates", [5, 20])
def test_equal_candidates_are_rarely_dropped(n_candidates: int) -> None:
    rng = np.random.default_rng(0)
    dropped = [is_worse(rng.normal(size=(n_candidates, 3))).mean() for _ in range(400)]
    # The best one leads by luck, so that the others are dropped a little more often than in 5 %.
    assert np.mean(dropped) < 0.08


def test_clearly_worse_candidates_are_dropped_after_three_blocks() -> None:
    rng = np.random.default_rng(0)
    effect = np.array([0.5, 0.5, 0.0, 0.0, -0.5, -0.5])
    hits = np.zeros(6)
    for _ in range(200):
        block = rng.normal(size=3)  # what all candidates of a block share
        hits += is_worse(effect[:, None] + block + 0.08 * rng.normal(size=(6, 3)))
    assert (hits[:2] < 20).all()
    assert (hits[2:4] > 180).all()
    assert (hits[4:] == 200).all()


def test_failed_runs_are_worse_and_do_not_spoil_the_test() -> None:
    gains = np.array([[0.1, 0.12, 0.11], [0.1, -np.inf, 0.1], [0.12, 0.1, 0.1]])
    assert is_worse(gains).tolist() == [False, True, False]


def test_a_single_candidate_is_never_worse() -> None:
    assert is_worse(np.array([[0.0, 0.0, 0.0]])).tolist() == [False]


def test_within_one_standard_error_of_the_best() -> None:
    best = np.array([1.0, 1.2, 0.8, 1.0])
    noise = np.array([0.1, -0.1, 0.1, -0.1])
    error = noise.std(ddof=1) / 2
    gains = np.stack([best, best - 0.99 * error + noise, best - 1.01 * error + noise])
    assert within_one_error(gains).tolist() == [True, True, False]
