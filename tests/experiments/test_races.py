"""Races: stops by the clock, best so far by validation, medians over folds."""

import numpy as np
import pytest

import cadda
from cadda.experiments.racing import (
    Checkpoints,
    MethodVariant,
    RaceJob,
    RacePoint,
    RaceResult,
    baseline_result,
    best_so_far,
    operation_use,
    parse_variant,
    race,
    race_panel,
    race_table,
)
from cadda.experiments.study import Record
from cadda.experiments.training import TrainingConfig, make_fold
from cadda.reporting.figures.heatmap import plot_selected
from cadda.reporting.figures.race import at_stops, plot_race
from cadda.searchers.registry import find_method

CONFIG = TrainingConfig(model="shallow", max_epochs=1, n_folds=1, valid=0.25, test=0.25)


@pytest.fixture(scope="module")
def fold():
    windows = cadda.simulate_sleep(n_subjects=4, n_windows=10, seed=0)
    return make_fold(CONFIG, windows, 0)


def test_a_race_by_numbers_stops_where_it_should(fold):
    made = race(MethodVariant("adda"), CONFIG, fold, Checkpoints((1, 3), "number"), ["sign_flip"])
    assert [point.number for point in made.points] == [1, 3]
    assert made.points[0].seconds < made.points[1].seconds
    assert made.operations == ("sign_flip",)
    assert np.shape(made.applied) == (1, 1)


def test_a_race_by_seconds_continues_until_the_time_is_over(fold):
    made = race(
        MethodVariant("cadda", classwise=True), CONFIG, fold, Checkpoints((0.01, 0.3)), None
    )
    first, last = made.points
    assert first.number == 1
    assert last.seconds >= 0.3
    assert made.rows == fold.train.class_names


def test_what_builds_on_a_probe_gets_one_and_its_time_counts(fold, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "cadda.searchers.race.methods.passing_operations",
        lambda probe, pool: asked.append(probe) or (),
    )
    made = race(MethodVariant("guided"), CONFIG, fold, Checkpoints((0.01, 0.02)), ["sign_flip"])
    (probe,) = asked
    assert {row.operation for row in probe.table} == {"sign_flip"}
    assert made.points[0].seconds == made.points[1].seconds > 0.02


def test_the_race_of_policies_stops_too(fold):
    """It begins after its probe, and has its usual budget, by which it plans its phases."""
    made = race(MethodVariant("auto"), CONFIG, fold, Checkpoints((0.01, 3)), ["sign_flip"])
    first, last = made.points
    assert first.number == 0
    assert 2 <= last.number <= find_method("auto").default_budget


def test_a_search_that_ends_early_is_not_asked_for_more(fold):
    """RandAugment's grid has 2 × 10 policies; a policy that stays is not trained again."""
    course = Checkpoints((30, 40), "number")
    made = race(MethodVariant("randaugment"), CONFIG, fold, course, ["sign_flip"])
    first, last = made.points
    assert first.number == last.number == 20
    assert first == last


def test_the_policy_of_a_race_is_what_is_trained(fold):
    """With p held at its start, a search of no epochs would be no augmentation at all."""
    made = race(
        MethodVariant("adda"), CONFIG, fold, Checkpoints((1,), "number"), ["gaussian_noise"]
    )
    plain = baseline_result(CONFIG, fold).points[0]
    assert made.points[0].valid_loss != plain.valid_loss
    assert plain.seconds == 0
    assert made.applied[0][0] == pytest.approx(0.75, abs=1e-3)


def test_names_of_variants():
    assert parse_variant("cadda") == MethodVariant("cadda", classwise=True)
    assert parse_variant("classwise:random") == MethodVariant("random", classwise=True)
    assert not parse_variant("dada").classwise
    with pytest.raises(ValueError, match="did you mean `random`"):
        parse_variant("classwise:randm")


def point(seconds, loss, accuracy):
    return RacePoint(
        seconds=seconds,
        number=int(10 * seconds),
        valid_loss=loss,
        balanced_accuracy=accuracy,
        macro_f1=accuracy / 2,
        f1_per_class={},
        valid_balanced_accuracy=accuracy,
        best_epoch=1,
        n_epochs=1,
        n_train=10,
    )


def test_the_best_by_validation_stands_until_a_better_one_comes():
    points = [point(1.0, 0.5, 0.7), point(2.0, 0.6, 0.9), point(3.0, 0.4, 0.6)]
    assert best_so_far(points, "balanced_accuracy") == [(1.0, 0.7), (2.0, 0.7), (3.0, 0.6)]


RECORDS = [
    Record(RaceJob(fold=0, method="none"), RaceResult(points=(point(0.0, 1.0, 0.5),))),
    Record(RaceJob(fold=1, method="none"), RaceResult(points=(point(0.0, 1.0, 0.6),))),
    *(
        Record(
            RaceJob(fold=fold, method="adda"),
            RaceResult(
                points=(point(1.0 + fold, 0.9, 0.6), point(4.0, 0.8, 0.7 + 0.1 * fold)),
                operations=("sign_flip", "time_mask"),
                rows=("*",),
                applied=((0.2, 0.4),) if fold else ((0.4, 0.0),),
            ),
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


def test_what_belongs_to_a_stop_is_brought_together():
    """Between 4 and 6 s one run is at its second stop and the others are not: no value of that."""
    runs = [[(1.0, 0.1), (4.0, 0.9)], [(2.0, 0.3), (5.0, 0.2)], [(3.0, 0.2), (6.0, 0.4)]]
    seconds, values = at_stops(runs)
    np.testing.assert_array_equal(seconds, [2.0, 5.0])
    np.testing.assert_array_equal(values, [[0.1, 0.9], [0.3, 0.2], [0.2, 0.4]])


def test_stops_at_the_same_time_are_one():
    """A trial that takes longer than both stops ends at the same time for both."""
    seconds, values = at_stops(
        [[(1.0, 0.1), (4.0, 0.2)], [(4.0, 0.3), (4.0, 0.3)], [(5.0, 0.4)] * 2]
    )
    np.testing.assert_array_equal(seconds, [4.0])
    np.testing.assert_array_equal(values, [[0.2], [0.3], [0.4]])


def test_operations_are_averaged_over_folds():
    use = operation_use(RECORDS)
    tables, rows, operations = use.tables, use.rows, use.operations
    np.testing.assert_allclose(tables["adda"], [[0.3, 0.2]])
    assert rows == {"adda": ["all classes"]}
    assert operations == ["sign_flip", "time_mask"]
    axes = plot_selected(use).axes[0]
    assert [text.get_text() for text in axes.texts] == ["30%", "20%"]


def test_the_curve_of_a_race_is_drawn_with_its_level():
    panel = race_panel("all", RECORDS, "balanced_accuracy")
    assert panel.level == [0.5, 0.6]
    axes = plot_race([[panel]]).axes[0]
    level, curve, marks = axes.lines
    np.testing.assert_allclose(curve.get_xydata()[:2], [[1.5, 0.6], [4.0, 0.75]])
    assert curve.get_ydata()[2] == pytest.approx(0.75)
    assert curve.get_xdata()[2] == pytest.approx(axes.get_xlim()[1])
    np.testing.assert_allclose(marks.get_xydata(), [[1.5, 0.6], [4.0, 0.75]])
    assert level.get_ydata()[0] == pytest.approx(0.55)


def test_what_needs_no_search_is_drawn_from_the_start_of_the_axis():
    records = [
        Record(RaceJob(fold=0, method=name), RaceResult(points=(point(seconds, 0.9, 0.5),)))
        for name, seconds in {"trivial": 0.0, "adda": 10.0}.items()
    ]
    axes = plot_race([[race_panel("", records, "balanced_accuracy")]]).axes[0]
    curves = axes.lines[::2]
    assert [curve.get_xdata()[0] for curve in curves] == [pytest.approx(axes.get_xlim()[0]), 10]
    only = plot_race([[race_panel("", records[:1], "balanced_accuracy")]]).axes[0]
    assert np.isfinite(only.lines[0].get_xdata()).all()


def made_up_races(n_folds):
    """Make two methods that stop at the same times."""
    return [
        Record(
            RaceJob(fold=fold, method=method),
            RaceResult(
                points=(point(10.0, 0.9, 0.5 + fold / 10), point(40.0, 0.8, 0.6 + fold / 10))
            ),
        )
        for fold in range(n_folds)
        for method in ("none", "adda", "dada")
    ]


@pytest.mark.parametrize("n_folds", [1, 2])
def test_fewer_than_three_folds_have_no_interval(n_folds):
    records = made_up_races(n_folds)
    table = race_table("races", records)
    assert [(row[3], row[5]) for row in table.rows] == [(None, None)] * 3
    assert "interval" not in table.note
    figure = plot_race([[race_panel("", records, "balanced_accuracy")]])
    assert not figure.axes[0].collections
    assert "interval" not in figure.legends[0].get_title().get_text()
    _, *lines = figure.axes[0].lines
    assert [line.get_xdata()[0] for line in lines] == [10.0] * 4


def test_three_folds_have_intervals_that_do_not_lie_on_each_other():
    records = made_up_races(3)
    table = race_table("races", records)
    assert table.rows[1][3] == "0.600 to 0.800"
    assert "with bootstrap intervals" in table.note
    figure = plot_race([[race_panel("", records, "balanced_accuracy")]])
    assert "interval of 75 %" in figure.legends[0].get_title().get_text()
    axes = figure.axes[0]
    bars = np.array([lines.get_segments() for lines in axes.collections])
    np.testing.assert_allclose(bars[:, :, :, 1], [[[0.5, 0.7], [0.6, 0.8]]] * 2)
    (adda, dada), marks = bars[:, :, 0, 0], axes.lines[2]
    np.testing.assert_array_equal(marks.get_xdata(), adda)
    assert np.all((dada / adda > 1.01) & (dada / adda < 1.1))
    np.testing.assert_allclose(np.sqrt(adda * dada), [10, 40])


def test_times_of_usual_stops_are_labelled():
    figure = plot_race([[race_panel("", made_up_races(3), "balanced_accuracy")]])
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"10", "20", "40"} <= set(labels)
