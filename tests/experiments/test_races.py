"""Races: stops by the clock, best so far by validation, medians over folds."""

import numpy as np
import pytest
from scipy.stats import bootstrap

import cadda
from cadda.experiments.base import Record
from cadda.experiments.race_results import best_so_far, race_panel, race_table, selected
from cadda.experiments.racing import Contestant, Course, no_race, parse_contestant, race
from cadda.experiments.training import TrainingConfig, fold_of
from cadda.reporting.intervals import interval_of_median
from cadda.reporting.race import aligned, plot_race, plot_selected

CONFIG = TrainingConfig(model="shallow", max_epochs=1, n_folds=1, valid=0.25, test=0.25)


@pytest.fixture(scope="module")
def fold():
    windows = cadda.simulate_sleep(n_subjects=4, n_windows=10, seed=0)
    return fold_of(CONFIG, windows, 0)


def test_a_race_by_numbers_stops_where_it_should(fold):
    made = race(Contestant("adda"), CONFIG, fold, Course((1, 3), "number"), ["sign_flip"])
    assert [point["number"] for point in made["points"]] == [1, 3]
    assert made["points"][0]["seconds"] < made["points"][1]["seconds"]
    assert made["operations"] == ["sign_flip"]
    assert np.shape(made["applied"]) == (1, 1)


def test_a_race_by_seconds_goes_on_until_the_time_is_over(fold):
    made = race(Contestant("cadda", classwise=True), CONFIG, fold, Course((0.01, 0.3)), None)
    first, last = made["points"]
    assert first["number"] == 1
    assert last["seconds"] >= 0.3
    assert made["rows"] == list(fold.train.class_names)


def test_a_search_that_ends_early_is_not_asked_for_more(fold):
    """RandAugment's grid has 2 × 10 policies; a policy that stays is not trained again."""
    course = Course((30, 40), "number")
    made = race(Contestant("randaugment"), CONFIG, fold, course, ["sign_flip"])
    first, last = made["points"]
    assert first["number"] == last["number"] == 20
    assert first == last


def test_the_policy_of_a_race_is_what_is_trained(fold):
    """With p held at its start, a search of no epochs would be no augmentation at all."""
    made = race(Contestant("adda"), CONFIG, fold, Course((1,), "number"), ["gaussian_noise"])
    plain = no_race(CONFIG, fold)["points"][0]
    assert made["points"][0]["valid_loss"] != plain["valid_loss"]
    assert plain["seconds"] == 0
    assert made["applied"][0][0] == pytest.approx(0.75, abs=1e-3)


def test_names_of_contestants():
    assert parse_contestant("cadda") == Contestant("cadda", classwise=True)
    assert parse_contestant("classwise:random") == Contestant("random", classwise=True)
    assert not parse_contestant("dada").classwise
    with pytest.raises(ValueError, match="did you mean `random`"):
        parse_contestant("classwise:randm")


def point(seconds, loss, accuracy):
    return {
        "seconds": seconds,
        "number": int(10 * seconds),
        "valid_loss": loss,
        "balanced_accuracy": accuracy,
        "macro_f1": accuracy / 2,
    }


def test_the_best_by_validation_stands_until_a_better_one_comes():
    points = [point(1.0, 0.5, 0.7), point(2.0, 0.6, 0.9), point(3.0, 0.4, 0.6)]
    assert best_so_far(points, "balanced_accuracy") == [(1.0, 0.7), (2.0, 0.7), (3.0, 0.6)]


RECORDS = [
    Record({"fold": 0, "method": "none"}, {"points": [point(0.0, 1.0, 0.5)]}),
    Record({"fold": 1, "method": "none"}, {"points": [point(0.0, 1.0, 0.6)]}),
    *(
        Record(
            {"fold": fold, "method": "adda"},
            {
                "points": [point(1.0 + fold, 0.9, 0.6), point(4.0, 0.8, 0.7 + 0.1 * fold)],
                "operations": ["sign_flip", "time_mask"],
                "rows": ["*"],
                "applied": [[0.2, 0.4]] if fold else [[0.4, 0.0]],
            },
        )
        for fold in (0, 1)
    ),
]


def test_a_table_pairs_folds_with_those_without_augmentation():
    none, adda = race_table("races", RECORDS).rows
    assert none[:3] == ("none", 2, pytest.approx(0.55))
    assert none[4] is None
    assert adda[2] == pytest.approx(0.75)
    assert adda[4] == pytest.approx(0.2)
    assert adda[6:] == (4.0, 40)


def test_runs_are_aligned_from_when_all_have_begun():
    seconds, values = aligned([[(1.0, 0.1), (4.0, 0.2)], [(2.0, 0.3)]], end=5.0)
    np.testing.assert_array_equal(seconds, [2.0, 4.0, 5.0])
    np.testing.assert_array_equal(values, [[0.1, 0.2, 0.2], [0.3, 0.3, 0.3]])


def test_the_interval_of_a_median_is_that_of_scipy():
    values = np.random.default_rng(1).normal(size=(15, 2))
    found = interval_of_median(values)
    reference = bootstrap(
        (values,), np.median, confidence_level=0.75, n_resamples=20_000, method="percentile", rng=2
    ).confidence_interval
    np.testing.assert_allclose(found[[0, 2]], [reference.low, reference.high], atol=0.05)
    np.testing.assert_array_equal(found[1], np.median(values, axis=0))


def test_operations_are_averaged_over_folds():
    tables, rows, operations = selected(RECORDS[2:])
    np.testing.assert_allclose(tables["adda"], [[0.3, 0.2]])
    assert rows == {"adda": ["all classes"]}
    assert operations == ["sign_flip", "time_mask"]
    axes = plot_selected(tables, rows, operations).axes[0]
    assert [text.get_text() for text in axes.texts] == ["30%", "20%"]


def test_the_curve_of_a_race_is_drawn_with_its_level():
    panel = race_panel("all", RECORDS, ["none", "adda"], "balanced_accuracy")
    assert panel.level == [0.5, 0.6]
    axes = plot_race([[panel]]).axes[0]
    curve, marks, level = axes.lines
    np.testing.assert_allclose(curve.get_xydata(), [[2.0, 0.6], [4.0, 0.75]])
    np.testing.assert_allclose(marks.get_xydata(), [[2.0, 0.6], [4.0, 0.75]])
    assert level.get_ydata()[0] == pytest.approx(0.55)
