"""Scores and intervals, against scikit-learn and a bootstrap resample by resample."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics

from cadda.reporting.html.scores import score_predictions
from cadda.reporting.records import Predictions

NAMES = ("a", "b", "c")


def make(
    n_subjects: int, n_windows: int = 40, *, better: float = 0.0, seed: int = 0
) -> Predictions:
    """Predictions that are right in half of the windows and, with the policy, in some more."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_subjects * n_windows)
    # Some subjects are easier than others.
    easy = np.repeat(rng.uniform(-0.2, 0.2, n_subjects), n_windows)

    def predicted(share: float) -> Any:
        wrong = (truth + rng.integers(1, 3, len(truth))) % 3
        return np.where(rng.random(len(truth)) < share + easy, truth, wrong)

    return Predictions(
        subject=np.repeat([f"s{i}" for i in range(n_subjects)], n_windows),
        recording=np.repeat([f"s{i}" for i in range(n_subjects)], n_windows),
        position=np.tile(np.arange(n_windows), n_subjects),
        truth=truth,
        predicted=predicted(0.5 + better),
        without_augmentation=predicted(0.5),
    )


def test_values_are_those_of_scikit_learn() -> None:
    data = make(5)
    found = score_predictions(data, NAMES)
    assert [row.name for row in found.rows] == [
        *("balanced accuracy", "macro F1", "Cohen's kappa"),
        *("F1", "F1", "F1"),
    ]
    for field, labels in (("predicted", data.predicted), ("without", data.without_augmentation)):
        expected = [
            metrics.balanced_accuracy_score(data.truth, labels),
            metrics.f1_score(data.truth, labels, average="macro"),
            metrics.cohen_kappa_score(data.truth, labels),
            *metrics.f1_score(data.truth, labels, average=None),
        ]
        assert [getattr(row, field).value for row in found.rows] == pytest.approx(expected)
    for subject, both in zip(found.subjects, found.by_subject.T, strict=True):
        mine = data.subject == subject
        expected = metrics.balanced_accuracy_score(data.truth[mine], data.predicted[mine])
        assert both[0] == pytest.approx(expected)
    np.testing.assert_array_equal(
        found.confusion[1], metrics.confusion_matrix(data.truth, data.without_augmentation)
    )


def test_intervals_are_those_of_drawing_subjects_one_by_one() -> None:
    data = make(8, better=0.1)
    found = score_predictions(data, NAMES).accuracy
    rng = np.random.default_rng(1)
    places = [np.flatnonzero(data.subject == name) for name in np.unique(data.subject)]
    drawn = []
    for _ in range(400):
        chosen = np.concatenate([places[i] for i in rng.integers(0, len(places), len(places))])
        drawn.append(
            [
                metrics.balanced_accuracy_score(data.truth[chosen], labels[chosen])
                for labels in (data.predicted, data.without_augmentation)
            ]
        )
    table = np.array(drawn)
    table = np.column_stack([table, table[:, 0] - table[:, 1]])
    expected = np.percentile(table, (2.5, 97.5), axis=0).T
    for estimate, ends in zip(
        (found.predicted, found.without, found.difference), expected, strict=True
    ):
        assert estimate is not None
        # Two sets of hundreds of drawings differ by some thousandths.
        assert (estimate.low, estimate.high) == pytest.approx(tuple(ends), abs=0.015)


def test_one_subject_means_drawing_windows() -> None:
    """With classes of equal size and errors, the share of right ones is nearly binomial."""
    n = 300
    truth = np.arange(n) % 2
    right = np.arange(n) % 10 < 8
    data = Predictions(
        *(np.full(n, "s"), np.full(n, "s"), np.arange(n)),
        truth=truth,
        predicted=np.where(right, truth, 1 - truth),
    )
    found = score_predictions(data, ("a", "b"))
    assert (found.unit, found.n_units) == ("windows", n)
    scores = found.accuracy
    assert scores.without is scores.difference is None
    expected = binom(n, 0.8).ppf([0.025, 0.975]) / n
    assert (scores.predicted.low, scores.predicted.high) == pytest.approx(expected, abs=0.012)


def test_same_drawings_for_both_models() -> None:
    """Two models that predict the same differ by nothing, surely."""
    data = make(5)
    same = Predictions(**(vars(data) | {"without_augmentation": data.predicted}))
    difference = score_predictions(same, NAMES).accuracy.difference
    assert difference is not None
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)


def test_a_drawing_without_a_rare_class_does_not_count() -> None:
    """Whoever always says the same is right in one class of three, however subjects are drawn."""
    truth = np.tile([0, 1], 30)
    truth[0] = 2
    subject = np.repeat([f"s{i}" for i in range(6)], 10)
    always = np.zeros(60, dtype=int)
    data = Predictions(subject, subject, np.arange(60), truth, predicted=always)
    found = score_predictions(data, NAMES).accuracy.predicted
    assert found.value == found.low == found.high == pytest.approx(1 / 3)


def test_class_that_is_nowhere() -> None:
    data = make(5)
    rows = score_predictions(data, (*NAMES, "absent")).rows
    assert not rows[-1].predicted.is_known
    assert rows[0].predicted.value == pytest.approx(
        metrics.balanced_accuracy_score(data.truth, data.predicted)
    )


def test_subjects_of_one_class_are_not_compared() -> None:
    data = make(3)
    truth = np.where(data.subject == "s1", 2, data.truth)
    found = score_predictions(replace(data, truth=truth), NAMES)
    assert found.is_comparable == (True, False, True)


def test_same_bytes_each_time() -> None:
    assert score_predictions(make(5), NAMES).rows == score_predictions(make(5), NAMES).rows


def test_equal_accuracies_of_a_subject_do_not_differ_by_rounding() -> None:
    """One, two and three tenths of three classes, in every order of the classes."""
    n_correct = list(permutations((1, 2, 3)))
    # Sums of the same numbers in another order can differ in the last digit.
    assert len({sum(n / 10 for n in row) / 3 for row in n_correct}) > 1
    truth = np.repeat([0, 1, 2], 10)
    made = [
        np.concatenate(
            [np.r_[np.full(n, k), np.full(10 - n, (k + 1) % 3)] for k, n in enumerate(row)]
        )
        for row in n_correct
    ]
    data = Predictions(
        subject=np.repeat([f"s{i}" for i in range(len(made))], len(truth)),
        recording=np.repeat("r", len(made) * len(truth)),
        position=np.arange(len(made) * len(truth)),
        truth=np.tile(truth, len(made)),
        predicted=np.concatenate(made),
        without_augmentation=np.tile(made[0], len(made)),
    )
    with_policy, without = score_predictions(data, NAMES).by_subject
    np.testing.assert_array_equal(with_policy, without)
