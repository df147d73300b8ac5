"""Intervals over subjects against enumeration, scores of subjects against scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score

from cadda.reporting.html.scores import score_predictions
from cadda.reporting.records import Predictions
from cadda.training import Scores, score, score_subjects

NAMES = ("a", "b", "c")
Labels = NDArray[np.int64]


def made_up(n_subjects: int, seed: int = 0) -> tuple[Labels, Labels, NDArray[np.str_]]:
    """Return true and predicted labels of subjects that differ in how well they are predicted."""
    rng = np.random.default_rng(seed)
    truth = np.tile(np.arange(30) % 3, n_subjects)
    share = np.repeat(np.linspace(0.4, 1, n_subjects), 30)
    predicted = np.where(rng.random(len(truth)) < share, truth, rng.integers(0, 3, len(truth)))
    return truth, predicted, np.repeat([f"s{i}" for i in range(n_subjects)], 30)


def scored(n_subjects: int) -> Scores:
    return score_subjects(*made_up(n_subjects), NAMES)


@pytest.mark.parametrize("n_subjects", [2, 3])
def test_few_subjects_are_enumerated(n_subjects: int) -> None:
    """A resample has one subject only in 1 of 4 or 27 cases, more often than 2.5 %.

    So the ends of the interval are the scores of the worst and of the best subject.
    """
    scores = scored(n_subjects)
    for name in ("balanced_accuracy", "macro_f1", "kappa"):
        each = [getattr(own, name) for own in scores.by_subject.values()]
        assert scores.intervals[name] == pytest.approx((min(each), max(each)))
    assert scores.resampled == "subjects"


def test_many_subjects_get_the_interval_of_the_normal_distribution() -> None:
    """All have the same classes, so that balanced accuracy is a mean over subjects."""
    scores = scored(40)
    each = np.array([own.balanced_accuracy for own in scores.by_subject.values()])
    half = 1.96 * each.std() / np.sqrt(len(each))
    low, high = scores.intervals["balanced_accuracy"]
    assert low == pytest.approx(each.mean() - half, abs=0.15 * half)
    assert high == pytest.approx(each.mean() + half, abs=0.15 * half)


def test_scores_of_subjects_are_those_of_scikit_learn() -> None:
    truth, predicted, subject = made_up(5)
    scores = score_subjects(truth, predicted, subject, NAMES)
    assert list(scores.by_subject) == [f"s{i}" for i in range(5)]
    for name, own in scores.by_subject.items():
        y, p = truth[subject == name], predicted[subject == name]
        assert own.n_windows == 30
        assert own.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, p))
        assert own.macro_f1 == pytest.approx(f1_score(y, p, average="macro"))
        assert own.kappa == pytest.approx(cohen_kappa_score(y, p))
        assert own.accuracy == pytest.approx((y == p).mean())


def test_scores_of_all_are_those_without_subjects() -> None:
    truth, predicted, subject = made_up(5)
    together = score_subjects(truth, predicted, subject, NAMES)
    plain = score(truth, predicted, NAMES)
    assert not plain.intervals
    assert plain.resampled is None
    for name in ("balanced_accuracy", "macro_f1", "kappa", "accuracy", "f1_per_class"):
        assert getattr(together, name) == getattr(plain, name)
    assert together.confusion.tolist() == plain.confusion.tolist()


def test_the_windows_of_a_single_subject_are_resampled() -> None:
    scores = scored(1)
    assert scores.resampled == "windows"
    low, high = scores.intervals["balanced_accuracy"]
    assert low < scores.balanced_accuracy < high


def test_the_terminal_has_the_intervals_of_the_report() -> None:
    truth, predicted, subject = made_up(6)
    scores = score_subjects(truth, predicted, subject, NAMES)
    predictions = Predictions(
        subject=subject,
        recording=subject,
        position=np.arange(len(truth)),
        truth=truth,
        predicted=predicted,
        without_augmentation=np.roll(predicted, 1),
    )
    rows = score_predictions(predictions, NAMES).rows
    for row, name in zip(rows, ("balanced_accuracy", "macro_f1", "kappa"), strict=False):
        assert scores.intervals[name] == (row.predicted.low, row.predicted.high)


def test_plain_data() -> None:
    content = scored(2).to_dict()
    assert json.loads(json.dumps(content)) == content
    assert content["by_subject"]["s0"]["n_windows"] == 30  # type: ignore[index]


def test_subjects_are_in_natural_order_and_in_a_frame() -> None:
    truth, predicted, subject = made_up(12)
    scores = score_subjects(truth[::-1], predicted[::-1], subject[::-1], NAMES)
    expected = [f"s{i}" for i in range(12)]
    assert list(scores.by_subject) == expected
    frame = scores.to_frame("subject")
    assert frame.subject.tolist() == expected
    assert frame.n_windows.tolist() == [30] * 12
    assert frame.kappa.tolist() == [own.kappa for own in scores.by_subject.values()]
    with pytest.raises(ValueError, match="`by` must be 'class' or 'subject', got 'classes'"):
        scores.to_frame("classes")  # type: ignore[arg-type]
