"""The rule of label maps on counts whose truth is known, and against enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from cadda.probing.clustered import class_shares
from cadda.probing.label_maps import best_permutation
from cadda.probing.probe import Condition
from cadda.probing.probe_result import ProbeResult
from cadda.probing.probe_tables import make_result

Matrix = NDArray[np.float64]
NAMES = ("a", "b", "c", "d", "e")
CONDITIONS = [
    *(Condition(f"graded {i}", magnitude) for i in range(4) for magnitude in (0.25, 0.5, 1.0)),
    *(Condition(f"plain {i}", None) for i in range(2)),
]


def confusion(n_classes: int, accuracy: float) -> Matrix:
    """Return shares of a model with the same accuracy for each class."""
    wrong = (1 - accuracy) / (n_classes - 1)
    return np.full((n_classes, n_classes), wrong) + (accuracy - wrong) * np.eye(n_classes)


def simulate(
    matrices: list[Matrix], seed: int, *, n_subjects: int = 12, n_windows: int = 20
) -> NDArray[np.int64]:
    """Draw counts of subjects who differ from each other."""
    rng = np.random.default_rng(seed)
    return np.array(
        [
            [
                [rng.multinomial(n_windows, rng.dirichlet(10 * row + 1e-3)) for row in matrix]
                for _ in range(n_subjects)
            ]
            for matrix in matrices
        ]
    )


def probed(matrices: list[Matrix], seed: int = 0, n_subjects: int = 12) -> ProbeResult:
    """Return the result for windows as they are and for operations without magnitude."""
    conditions = [Condition(f"operation {i}", None) for i in range(len(matrices) - 1)]
    counts = simulate(matrices, seed, n_subjects=n_subjects)
    return make_result(counts, conditions, NAMES[: len(matrices[0])])


def verdicts(result: ProbeResult, operation: int = 0) -> list[str]:
    return [row.description for row in result.rows(f"operation {operation}")]


# Standard errors


def test_equal_subjects_have_the_standard_error_of_their_mean() -> None:
    counts = simulate([confusion(3, 0.6), confusion(3, 0.4)], seed=0)
    share = class_shares(counts, counts[0].sum(-1))
    by_subject = counts / 20
    np.testing.assert_allclose(share.value, by_subject.mean(1))
    np.testing.assert_allclose(share.error, by_subject.std(1, ddof=1) / np.sqrt(12))
    difference = by_subject[1] - by_subject[0]
    error = difference.std(0, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose((share[1] - share[0]).error, error)
    high = difference.mean(0) + t.ppf(0.975, 11) * error
    np.testing.assert_allclose((share[1] - share[0]).high, high)


def test_windows_count_alike_and_a_subject_without_a_class_counts_for_the_others() -> None:
    counts = np.array([[[[6, 2], [1, 1]], [[1, 1], [0, 0]], [[4, 0], [3, 5]]]])
    share = class_shares(counts, counts[0].sum(-1))
    np.testing.assert_allclose(share.value[0], [[11 / 14, 3 / 14], [4 / 10, 6 / 10]])
    assert share.n_clusters == 2
    # Of the ratio of sums, by the delta method.
    residual = np.array([6 - 11 / 14 * 8, 1 - 11 / 14 * 2, 4 - 11 / 14 * 4]) / 14
    np.testing.assert_allclose(share.error[0, 0, 0], np.sqrt(2 * (residual**2).sum()))


def test_agreement_of_all_windows_is_no_certainty() -> None:
    share = class_shares(np.array([[[[10, 0], [0, 30]]] * 4]), np.array([[10, 30]] * 4))
    np.testing.assert_allclose(share.error, 1 / 40)


# Permutations


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_the_best_permutation_is_that_of_enumeration(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for _ in range(30):
        share = rng.dirichlet(np.ones(n_classes), size=n_classes)
        allowed = rng.random((n_classes, n_classes)) < 0.5
        itself = np.eye(n_classes, dtype=bool)
        rows = np.arange(n_classes)
        possible = [
            order
            for order in permutations(range(n_classes))
            if (allowed | itself)[rows, list(order)].all()
        ]
        best = max(possible, key=lambda order: share[rows, list(order)].sum())
        assert best_permutation(share, allowed).tolist() == list(best)


# Label maps


@pytest.mark.parametrize("seed", range(3))
def test_a_permutation_of_three_classes_is_found(seed: int) -> None:
    matrices = [confusion(3, 0.75), confusion(3, 0.7)[[1, 2, 0]], confusion(3, 1 / 3)]
    result = probed(matrices, seed, n_subjects=24)
    (label_map,) = result.label_maps
    assert label_map.operation == "operation 0"
    assert label_map.mapping == {"a": "b", "b": "c", "c": "a"}
    assert verdicts(result) == ["becomes b", "becomes c", "becomes a"]
    assert verdicts(result, 1) == ["destroys"] * 3
    assert result.destructive == ("operation 1",)


@pytest.mark.parametrize("seed", range(3))
def test_a_map_names_kept_classes_and_leaves_lost_ones_out(seed: int) -> None:
    after = confusion(4, 0.8)[[1, 0, 2, 3]]
    after[3] = 0.25
    (label_map,) = probed([confusion(4, 0.8), after], seed, n_subjects=60).label_maps
    assert label_map.mapping == {"a": "b", "b": "a", "c": "c"}


def test_moves_that_are_no_permutation_give_no_map() -> None:
    plain = confusion(3, 0.8)
    result = probed([plain, plain[[1, 2, 2]], plain[[0, 0, 0]]])
    assert result.label_maps == []
    assert verdicts(result)[0] == "becomes b"
    # What all windows are taken for has nothing to do with their class.
    assert verdicts(result, 1) == ["destroys"] * 3


def test_a_class_that_becomes_two_others_gives_no_map() -> None:
    plain = confusion(4, 0.9)
    halves = plain.copy()
    halves[0] = (plain[1] + plain[2]) / 2
    halves[1], halves[2] = plain[0], plain[0]
    assert [probed([plain, halves], seed).label_maps for seed in range(5)] == [[]] * 5


def test_a_map_must_retain_half_of_the_recognition() -> None:
    """An operation that exchanges little of what a model looks at is no exchange of classes."""
    plain = confusion(2, 0.9)
    for accuracy, n_maps in ((0.6, 0), (0.65, 0), (0.75, 1)):
        result = probed([plain, confusion(2, accuracy)[::-1]], n_subjects=60)
        assert len(result.label_maps) == n_maps


@pytest.mark.parametrize("bias", [-0.15, 0.15])
def test_a_model_that_prefers_a_class_after_the_operation_sees_the_same(bias: float) -> None:
    shift = np.array([bias, -bias])
    matrices = [confusion(2, 0.75), confusion(2, 0.75) + shift, confusion(2, 0.27) + shift]
    result = probed(matrices, n_subjects=100)
    assert verdicts(result) == ["keeps", "keeps"]
    assert [m.operation for m in result.label_maps] == ["operation 1"]


def test_a_model_at_chance_proves_nothing() -> None:
    swapped = confusion(2, 0.9)[::-1]
    for seed in range(10):
        result = probed([confusion(2, 0.5), swapped], seed)
        assert not result.is_useful
        assert result.label_maps == []
        assert {row.verdict for row in result.table} == {"undecided"}
        assert "not distinguishable from chance" in result.summary()
        assert len(result.sentences) == 1


def test_a_map_needs_the_evidence_of_several_subjects() -> None:
    matrices = [confusion(2, 0.75), confusion(2, 0.25)]
    assert probed(matrices, n_subjects=2).label_maps == []
    assert len(probed(matrices, n_subjects=12).label_maps) == 1


def test_of_the_magnitudes_that_with_the_best_agreement_is_proposed() -> None:
    matrices = [confusion(3, accuracy) for accuracy in (0.8, 0.33, 0.7, 0.75, 0.7)]
    matrices[2:] = [matrix[[1, 0, 2]] for matrix in matrices[2:]]
    conditions = [Condition("graded", m) for m in (0.25, 0.5, 0.75, 1.0)]
    result = make_result(simulate(matrices, 0, n_windows=200), conditions, NAMES[:3])
    (label_map,) = result.label_maps
    assert label_map.magnitude == 0.75


def null_matrices(n_classes: int, accuracy: float, rng: np.random.Generator) -> list[Matrix]:
    """Return windows as they are, and operations that keep, weaken, destroy or shift classes."""
    plain, chance = confusion(n_classes, accuracy), 1 / n_classes
    shifted = plain[np.minimum(np.arange(n_classes) + 1, n_classes - 1)]
    made = [plain]
    for number in range(len(CONDITIONS)):
        favourite = np.tile(rng.dirichlet(np.ones(n_classes)), (n_classes, 1))
        weaker = confusion(n_classes, chance + rng.random() * (accuracy - chance))
        made.append([confusion(n_classes, chance), favourite, weaker, shifted][number % 4])
    return made


@pytest.mark.parametrize(("n_classes", "accuracy"), [(2, 0.6), (2, 0.8), (3, 0.5), (5, 0.4)])
def test_false_discoveries_over_50_seeds_are_at_most_5_percent(
    n_classes: int, accuracy: float
) -> None:
    false = 0
    for seed in range(50):
        matrices = null_matrices(n_classes, accuracy, np.random.default_rng(seed))
        counts = simulate(matrices, 1000 + seed)
        false += bool(make_result(counts, CONDITIONS, NAMES[:n_classes]).label_maps)
    assert false <= 0.05 * 50


def test_true_maps_are_found_beside_other_operations() -> None:
    found = 0
    for seed in range(20):
        matrices = null_matrices(2, 0.72, np.random.default_rng(seed))
        matrices[-1] = confusion(2, 0.3)
        counts = simulate(matrices, seed, n_subjects=24)
        result = make_result(counts, CONDITIONS, NAMES[:2])
        found += [label_map.operation for label_map in result.label_maps] == ["plain 1"]
    assert found >= 18


def test_an_unknown_class_remains_undecided() -> None:
    plain = confusion(3, 0.8)
    plain[2] = [0.45, 0.45, 0.1]
    result = probed([plain, plain[[1, 0, 2]]])
    assert verdicts(result) == ["becomes b", "becomes a", "undecided"]
    assert result.label_maps[0].mapping == {"a": "b", "b": "a"}


def test_a_class_that_a_model_prefers_is_not_kept_by_what_destroys_the_others() -> None:
    plain, after = confusion(2, 0.8), np.array([[0.9, 0.1], [0.8, 0.2]])
    assert verdicts(probed([plain, after], n_subjects=40)) == ["destroys", "destroys"]
