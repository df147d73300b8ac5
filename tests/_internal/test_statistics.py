"""Statistics against SciPy and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cadda._internal.statistics import (
    bootstrap,
    cluster_standard_error,
    corrected_t_test,
    holm,
    median_estimate,
    median_interval,
    percentile_estimate,
    resample_counts,
    sign_test,
    t_test_greater,
)

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("statistic", [np.median, np.mean])
def test_bootstrap_interval_agrees_with_scipy(statistic) -> None:
    values = RNG.normal(size=(15, 2))
    low, value, high = bootstrap(values, statistic)
    expected = stats.bootstrap(
        (values,), statistic, confidence_level=0.75, n_resamples=20_000, method="percentile", rng=2
    ).confidence_interval
    np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=0.05)
    np.testing.assert_array_equal(value, statistic(values, axis=0))


def test_three_folds_have_the_interval_of_their_range() -> None:
    """With probability 7/27 a resample's median is the lowest of three, above the tail of 1/8."""
    assert median_estimate([0.3, 0.1, 0.2]) == median_estimate([0.1, 0.2, 0.3])
    np.testing.assert_allclose(median_interval(np.array([0.1, 0.2, 0.3])), [0.1, 0.2, 0.3])


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_folds_have_no_interval(n: int) -> None:
    estimate = median_estimate([0.5] * n)
    assert estimate.value == 0.5
    assert not estimate.is_bounded


def test_percentiles_of_finite_resamples() -> None:
    resampled = np.append(np.arange(1001.0), [np.nan, np.inf])
    estimate = percentile_estimate(3.0, resampled)
    assert (estimate.value, estimate.low, estimate.high) == (3.0, 25.0, 975.0)
    assert not percentile_estimate(math.nan, np.array([np.nan])).is_known


def test_resampled_clusters_have_mean_and_variance_of_the_multinomial() -> None:
    counts = np.array([[10], [20], [60]])
    drawn = resample_counts(counts, 20_000, np.random.default_rng(0))[:, 0]
    assert drawn.mean() == pytest.approx(90, rel=0.01)
    assert drawn.var() == pytest.approx(3 * np.var([10, 20, 60]), rel=0.03)


def test_one_cluster_is_resampled_by_observation() -> None:
    drawn = resample_counts(np.array([[30, 70]]), 20_000, np.random.default_rng(0))
    assert set(drawn.sum(1)) == {100}
    assert drawn[:, 0].var() == pytest.approx(stats.binom(100, 0.3).var(), rel=0.03)


def test_corrected_t_test_is_that_of_student_with_a_larger_variance() -> None:
    differences = RNG.normal(0.3, 1, size=6)
    test = corrected_t_test(differences.tolist())
    student = stats.ttest_1samp(differences, 0)
    wider = math.sqrt((1 / 6 + 1 / 5) / (1 / 6))
    expected = 2 * stats.t.sf(abs(student.statistic) / wider, 5)
    assert test.p_value == pytest.approx(expected)
    ends = student.confidence_interval(0.95)
    half = wider * (ends.high - ends.low) / 2
    assert (test.difference.low, test.difference.high) == pytest.approx(
        (differences.mean() - half, differences.mean() + half)
    )


@pytest.mark.parametrize(("difference", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_differences_without_spread(difference: float, p_value: float) -> None:
    assert corrected_t_test([difference] * 4).p_value == p_value


def test_a_test_needs_two_folds() -> None:
    with pytest.raises(ValueError, match="at least two folds, got 1"):
        corrected_t_test([0.1])


@pytest.mark.parametrize("n", [1, 6, 11])
def test_sign_test_agrees_with_scipy(n: int) -> None:
    for n_positive in range(n + 1):
        differences = [0.1] * n_positive + [-2.0] * (n - n_positive) + [0.0] * 3
        assert sign_test(differences) == pytest.approx(stats.binomtest(n_positive, n).pvalue)


def test_sign_test_of_ties_is_undecided() -> None:
    assert sign_test([0.0, 0.0]) == 1


def test_holm_agrees_with_its_definition() -> None:
    """The i-th smallest of n p-values is multiplied by n - i, and never falls below the last."""
    np.testing.assert_allclose(holm([[0.01, 0.04], [0.03, 0.005]]), [[0.03, 0.06], [0.06, 0.02]])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1.0, 1.0])
    np.testing.assert_allclose(holm([0.2]), [0.2])


def test_clusters_of_one_observation_have_the_usual_standard_error() -> None:
    values = RNG.normal(size=(2, 12))
    terms = (values - values.mean(1, keepdims=True)) / 12
    np.testing.assert_allclose(cluster_standard_error(terms, 12), stats.sem(values, axis=1))
    assert np.isnan(cluster_standard_error(terms, 1)).all()


def test_one_sided_test_agrees_with_scipy() -> None:
    values = RNG.normal(0.2, 1, size=8)
    mean, error = values.mean(), stats.sem(values)
    p = t_test_greater(np.array([mean, mean]), np.array([error, 0.0]), 7)
    expected = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    np.testing.assert_allclose(p, [expected, 0.5])
