"""Comparison of methods by cross-validation, and what it recommends."""

import json

import commands
import numpy as np
import pytest
from scipy.stats import ttest_rel

import cadda
from cadda.experiments.racing import RaceJob, RacePoint, RaceResult
from cadda.experiments.studies.compare import (
    Compare,
    CompareConfig,
    compare_with_baseline,
    comparisons,
    paired_scores,
    recommendation,
)
from cadda.experiments.study import Record


def run(*arguments, code=0):
    return commands.run("compare", *arguments, code=code)


def record(fold, method, accuracy, n_epochs=30):
    point = RacePoint(
        seconds=1.0,
        number=n_epochs,
        balanced_accuracy=accuracy,
        macro_f1=accuracy,
        f1_per_class={},
        valid_balanced_accuracy=accuracy,
        valid_loss=1.0,
        best_epoch=1,
        n_epochs=1,
        n_train=10,
    )
    return Record(RaceJob(fold=fold, method=method), RaceResult(points=(point,)))


STUDY = Compare()
PLAIN = [0.50, 0.55, 0.60, 0.52, 0.58]


def test_the_corrected_test_is_student_s_with_a_wider_error():
    """Nadeau and Bengio only change the factor 1/n of the variance."""
    better = [0.56, 0.58, 0.67, 0.53, 0.66]
    (found,) = compare_with_baseline(PLAIN, {"adda": better})
    student = ttest_rel(better, PLAIN)
    wider = np.sqrt((1 / 5 + 1 / 4) / (1 / 5))
    interval = student.confidence_interval(0.95)
    assert found.gain == pytest.approx(np.mean(better) - np.mean(PLAIN))
    half = wider * (interval.high - interval.low) / 2
    assert found.high - found.low == pytest.approx(2 * half)
    assert found.p_value > student.pvalue


def test_p_values_are_corrected_for_the_number_of_methods():
    better = [0.56, 0.58, 0.67, 0.53, 0.66]
    (alone,) = compare_with_baseline(PLAIN, {"adda": better})
    both = compare_with_baseline(PLAIN, {"adda": better, "random": [0.1, 0.9, 0.5, 0.5, 0.6]})
    assert both[0].p_value == pytest.approx(2 * alone.p_value)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ([0.10, 0.11, 0.09, 0.10, 0.10], "Use adda: +0.100"),
        ([0.10, -0.08, 0.09, -0.02, 0.01], "adda is best, but not significantly better"),
        ([-0.10, -0.11, -0.09, -0.10, -0.10], "Train without augmentation"),
        ([0.0, 0.0, 0.0, 0.0, 0.0], "Train without augmentation"),
    ],
)
def test_a_recommendation_says_how_sure_it_is(gains, words):
    found = compare_with_baseline(PLAIN, {"adda": np.add(PLAIN, gains).tolist()})
    text = recommendation(found, 5)
    assert text.startswith(words)
    assert "95 % interval" in text


def test_two_folds_leave_doubts_and_no_difference_beyond_one():
    (found,) = compare_with_baseline([0.2, 0.5], {"adda": [0.4, 0.2]})
    assert (found.low, found.high) == (-1.0, 1.0)
    text = recommendation([found], 2)
    assert text.startswith("Train without augmentation")
    assert "2 folds cannot exclude a gain" in text


@pytest.mark.parametrize(("n_epochs", "said"), [(5, True), (6, False)])
def test_a_search_that_did_not_search_is_named(n_epochs, said):
    records = [record(fold, "none", 0.5) for fold in range(3)]
    records += [record(fold, "adda", 0.6, n_epochs) for fold in range(3)]
    records += [record(fold, "random", 0.6, 1) for fold in range(3)]
    table = STUDY.table(records)
    assert ("adda ended within its warm-up of 5 epochs" in table.note) == said
    assert "random ended" not in table.note
    assert [row[-1] for row in table.rows] == [None, n_epochs, 1]


@pytest.mark.parametrize(("other", "said"), [("cadda", True), ("dada", False)])
def test_copies_are_told_where_they_differ(other, said):
    records = [record(fold, name, 0.5) for fold in range(3) for name in ("none", "adda", other)]
    assert ("beside an augmented copy" in STUDY.table(records).note) == said


def test_only_folds_that_all_methods_have_are_compared():
    records = [record(fold, "none", 0.5) for fold in range(3)]
    records += [record(fold, "adda", 0.6 + 0.01 * fold) for fold in (0, 2)]
    assert paired_scores(records) == {"none": {0: 0.5, 2: 0.5}, "adda": {0: 0.6, 2: 0.62}}
    assert comparisons(records)[0].gain == pytest.approx(0.11)


def test_without_none_nothing_is_recommended():
    records = [record(fold, "adda", 0.6) for fold in range(3)]
    assert comparisons(records) == []
    assert "`none` are needed" in STUDY.conclusion(records)
    assert STUDY.table(records).rows[0][5] is None
    assert len(STUDY.figure(records).axes[1].lines) == 1


def test_the_figure_shows_how_sure_gains_are():
    records = [record(fold, "none", value) for fold, value in enumerate(PLAIN)]
    records += [record(fold, "adda", value + 0.01 * fold) for fold, value in enumerate(PLAIN)]
    (found,) = comparisons(records)
    figure = STUDY.figure(records)
    *_, mean, whisker = figure.axes[1].lines
    assert mean.get_ydata()[0] == pytest.approx(found.gain)
    np.testing.assert_allclose(whisker.get_ydata(), [found.low, found.high])
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["a fold", "mean", "95 % interval of the mean gain"]


def test_more_folds_than_subjects_are_an_error_before_any_job():
    windows = cadda.simulate_sleep(n_subjects=4, n_windows=10, seed=0)
    with pytest.raises(ValueError, match="from 2 to the number of subjects, 4, got 9"):
        STUDY.jobs(CompareConfig(n_folds=9), windows)


def test_each_subject_is_tested_once():
    windows = cadda.simulate_sleep(n_subjects=7, n_windows=10, seed=0)
    config = CompareConfig(n_folds=3)
    folds = [
        STUDY.fold(config, windows, RaceJob(fold=number, method="none")) for number in range(3)
    ]
    tested = [subject for fold in folds for subject in fold.test.subjects]
    assert sorted(tested) == sorted(windows.subjects)
    for fold in folds:
        parts = (fold.train, fold.valid, fold.test)
        names = [subject for part in parts for subject in part.subjects]
        assert sorted(names) == sorted(windows.subjects)


def test_the_command_compares_and_resumes(tmp_path):
    data = tmp_path / "sleep.npz"
    cadda.simulate_sleep(n_subjects=6, n_windows=10, seed=0).save(data)
    command = (
        *(data, "--methods", "none,adda", "--folds", "2", "--seconds", "0.05"),
        *("--max-epochs", "1", "--model", "shallow", "--out", tmp_path / "out", "--json"),
    )
    first = json.loads(run(*command).stdout)
    assert first["n_done"] == 4
    assert {row["method"] for row in first["table"]["rows"]} == {"none", "adda"}
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert json.loads(run(*command).stdout)["table"] == first["table"]
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


def test_an_unknown_method_is_one_sentence(tmp_path):
    data = tmp_path / "sleep.npz"
    cadda.simulate_sleep(n_subjects=6, n_windows=10, seed=0).save(data)
    done = run(data, "--methods", "none,caddda", "--out", tmp_path / "out", code=2)
    assert "did you mean `cadda`" in done.stderr
    assert not (tmp_path / "out").exists()
