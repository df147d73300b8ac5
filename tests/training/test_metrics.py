"""Scores against scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from cadda.training import score

NAMES = ("a", "b", "c", "d")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_equal_to_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(pairs).T
    result = score(truth, predicted, NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced = metrics.balanced_accuracy_score(truth, predicted)
        macro = metrics.f1_score(truth, predicted, average="macro", zero_division=0)
        each = metrics.f1_score(truth, predicted, average=None, labels=range(4), zero_division=0)
        kappa = metrics.cohen_kappa_score(truth, predicted)
    assert result.balanced_accuracy == pytest.approx(balanced)
    assert result.macro_f1 == pytest.approx(macro)
    assert list(result.f1_per_class.values()) == pytest.approx(each.tolist())
    assert result.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    expected = metrics.confusion_matrix(truth, predicted, labels=range(4))
    np.testing.assert_array_equal(result.confusion, expected)
    if np.isfinite(kappa):
        assert result.kappa == pytest.approx(kappa)


def test_text() -> None:
    scores = score([0, 0, 1, 1], [0, 0, 1, 0], ("a", "b"))
    assert str(scores) == "balanced accuracy 0.750, macro F1 0.733, kappa 0.500, 4 windows"
    within = replace(scores, intervals={"balanced_accuracy": (0.5, 1.0)})
    assert str(within).startswith("balanced accuracy 0.750 [0.500 to 1.000], macro F1 0.733, ")


def test_plain_data() -> None:
    data = score([0, 1, 1], [0, 1, 0], ("x", "y")).to_dict()
    assert data["confusion"] == [[1, 0], [1, 1]]
    assert data["balanced_accuracy"] == 0.75


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_frame_is_equal_to_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(pairs).T
    frame = score(truth, predicted, NAMES).to_frame()
    expected = metrics.precision_recall_fscore_support(
        truth, predicted, labels=range(4), zero_division=0
    )
    for name, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        np.testing.assert_allclose(frame[name], values)
    assert frame.class_name.tolist() == list(NAMES)


def test_repr_is_one_short_line() -> None:
    scores = score(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 1]), ["W", "R"])
    assert repr(scores) == (
        "Scores(balanced_accuracy=0.750, macro_f1=0.778, kappa=0.571, accuracy=0.833, n_windows=6)"
    )
