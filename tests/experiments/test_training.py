"""Folds, single training runs, gains and intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cadda import PolicySpec, Windows, evaluate, fit, simulate_sleep
from cadda._internal.statistics import FOLD_COVERAGE, median_estimate
from cadda.experiments.operations import (
    chosen_operations,
    classwise_policy,
    gain_cells,
    interval_note,
    magnitude_of,
    relative_gain,
    single_policy,
)
from cadda.experiments.training import (
    TrainingConfig,
    check_training,
    make_fold,
    train_and_score,
    training_seconds,
)
from cadda.operations.catalogue import CATALOGUE


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=8, n_windows=20)


def test_nobody_is_on_two_sides(windows: Windows) -> None:
    config = TrainingConfig(valid=0.25, test=0.25)
    for number in range(4):
        fold = make_fold(config, windows, number)
        parts = [fold.train.subjects, fold.valid.subjects, fold.test.subjects]
        assert sorted(itertools.chain(*parts)) == sorted(windows.subjects)
        assert [len(part) for part in parts] == [4, 2, 2]


def test_folds_differ_and_do_not_depend_on_their_number(windows: Windows) -> None:
    few, many = TrainingConfig(n_folds=2), TrainingConfig(n_folds=9)
    tests = [make_fold(many, windows, number).test.subjects for number in range(6)]
    assert len({tuple(subjects) for subjects in tests}) > 1
    assert make_fold(few, windows, 1).test.subjects == tests[1]
    assert make_fold(few, windows, 0).seed != make_fold(few, windows, 1).seed
    assert make_fold(TrainingConfig(seed=1), windows, 0).seed != make_fold(few, windows, 0).seed


def test_parts_of_the_training_windows_are_nested(windows: Windows) -> None:
    config = TrainingConfig(n_train=40)
    whole, half = (make_fold(config, windows, 0, fraction=f) for f in (1.0, 0.5))
    assert len(whole.train) == pytest.approx(40, abs=3)
    assert len(half.train) == pytest.approx(20, abs=3)
    taken = {window.numpy().tobytes() for window in whole.train.x}
    assert {window.numpy().tobytes() for window in half.train.x} < taken
    assert whole.test.subjects == half.test.subjects


def test_a_training_is_what_fit_and_evaluate_give(windows: Windows) -> None:
    config = TrainingConfig(model="shallow", max_epochs=3, batch_size=32, lr=5e-3)
    fold = make_fold(config, windows, 0)
    policy = PolicySpec.from_text("sign_flip p=0.5")
    result = train_and_score(config, fold, policy)
    fitted = fit(
        fold.train,
        fold.valid,
        model="shallow",
        policy=policy,
        max_epochs=3,
        batch_size=32,
        lr=5e-3,
        seed=fold.seed,
    )
    scores = evaluate(fitted, fold.test)
    assert result.balanced_accuracy == scores.balanced_accuracy
    assert result.f1_per_class == scores.f1_per_class
    assert result.valid_loss == min(epoch.valid_loss for epoch in fitted.history)
    assert result.n_train == len(fold.train)


def test_mistakes_are_found_before_training(windows: Windows) -> None:
    with pytest.raises(ValueError, match="did you mean `chambon2018`"):
        check_training(TrainingConfig(model="chambon"), windows)
    with pytest.raises(ValueError, match="leave something for training"):
        check_training(TrainingConfig(valid=0.5, test=0.5), windows)


def test_time_grows_with_the_windows(windows: Windows) -> None:
    config = TrainingConfig()
    assert training_seconds(config, windows) > training_seconds(config, windows, fraction=0.5) > 0
    assert (
        training_seconds(TrainingConfig(max_epochs=1), windows)
        < training_seconds(config, windows) / 50
    )


def test_relative_gain() -> None:
    assert relative_gain(0.6, 0.5) == pytest.approx(0.2)
    assert relative_gain(0.4, 0.5) == pytest.approx(-0.2)


def test_intervals_are_those_of_all_resamples() -> None:
    values = [0.1, -0.2, 0.4, 0.3]
    medians = [np.median(resample) for resample in itertools.product(values, repeat=4)]
    low, high = np.quantile(medians, [(1 - FOLD_COVERAGE) / 2, (1 + FOLD_COVERAGE) / 2])
    found = median_estimate(values)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(low, abs=0.01)
    assert found.high == pytest.approx(high, abs=0.01)
    assert median_estimate(values) == found


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.3]])
def test_fewer_than_three_folds_have_no_interval(values: list[float]) -> None:
    found = median_estimate(values)
    assert found.value == pytest.approx(np.mean(values))
    assert not found.is_bounded
    assert gain_cells(values) == (pytest.approx(100 * np.mean(values)), None, None, len(values))
    assert interval_note([values]) == "median over folds"
    assert interval_note([values, [0.1, 0.2, 0.3]]).endswith("75 % bootstrap interval")


def test_the_interval_of_three_folds_goes_from_the_lowest_to_the_highest() -> None:
    assert gain_cells([0.3, 0.1, 0.2]) == (*(pytest.approx(gain) for gain in (20, 10, 30)), 3)


def test_operations_of_the_montage(windows: Windows) -> None:
    assert "channel_symmetry" not in chosen_operations(windows, None)
    assert chosen_operations(windows, ["sign_flip"]) == ("sign_flip",)
    with pytest.raises(ValueError, match="`operations`: operation `rotation_x` was left out"):
        chosen_operations(windows, ["rotation_x"])


@pytest.mark.parametrize("table", ["sleep", "motor-imagery"])
def test_every_operation_has_a_magnitude_where_it_needs_one(table: str) -> None:
    for name, row in CATALOGUE.items():
        value = magnitude_of(name, table)
        assert (value is not None) == row.has_magnitude
        assert value is None or 0 < value <= 1
    with pytest.raises(ValueError, match="`magnitudes` must have one for time_mask"):
        magnitude_of("time_mask", {"bandstop": 0.3})


def test_policies() -> None:
    assert single_policy("none", None) is None
    policy = single_policy("time_mask", 0.3)
    assert policy is not None
    assert policy.to_text().strip() == "time_mask p=0.5 m=0.3"
    each = classwise_policy({"W": ("sign_flip", None), "N1": ("time_mask", 0.3)})
    assert each.class_names == ("W", "N1")
    assert each.operation_probabilities().tolist() == [[0.5, 0.0], [0.0, 0.5]]
