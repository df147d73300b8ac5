"""Studies that race searches, each at its quick scale, from settings to figure."""

import html
import json

import numpy as np
import pytest

import cadda
from cadda.data.datasets.mnist import read_digits
from cadda.experiments import draw_study, run_study
from cadda.experiments.registry import find_study
from cadda.experiments.studies.data_regime import RegimeJob
from cadda.experiments.studies.mnist import MnistConfig, _fold


def quick(name, folder, **changes):
    """Run a study and return it with its result."""
    result = run_study(name, scale="quick", settings=changes, out=folder)
    assert not result.progress.missing, result.progress.failures
    return find_study(name), result


def test_search_race_has_a_panel_for_each_kind_of_policy(tmp_path):
    _, result = quick("search-race", tmp_path)
    titles = [axes.get_title() for axes in result.figure.axes]
    assert titles[:2] == ["(a) one policy for all classes", "(b) a policy for each class"]
    names = [row[0] for row in result.table.rows]
    assert names == ["none", "adda", "cadda", "classwise:fast_autoaugment"]
    assert result.files == (tmp_path / "search-race.png",)
    again = draw_study("search-race", tmp_path, formats=["svg"])
    assert again.table == result.table
    assert again.files == (tmp_path / "search-race.svg",)


def test_ablation_takes_parts_away(tmp_path):
    study, result = quick("ablation", tmp_path)
    assert len(result.table.rows) == len(result.records) == 5
    jobs = [record.job for record in result.records]
    settings = [dict(study.variant(job.method).settings) for job in jobs[1:4]]
    assert settings == [{}, {"estimator": "straight-through"}, {"sampling": "mixture"}]
    with pytest.raises(ValueError, match="unknown variant 'with RELAX'"):
        study.variant("with RELAX")


def test_selected_operations_has_a_row_for_each_class(tmp_path):
    _, result = quick("selected-operations", tmp_path)
    assert [row[:2] for row in result.table.rows] == [
        ("adda", "all classes"),
        *(("cadda", name) for name in ("W", "N1", "N2", "N3", "R")),
    ]
    labels = [text.get_text() for text in result.figure.axes[0].get_yticklabels()]
    assert labels[1] == "cadda: W"


def test_data_regime_tests_the_same_people_with_more_nights(tmp_path):
    study, result = quick("data-regime", tmp_path)
    sizes = {record.job.nights: record.result.points[0].n_train for record in result.records}
    assert sizes[2] == 2 * sizes[1]
    windows = cadda.simulate_sleep(n_subjects=8, n_windows=10, seed=0)
    config = study.config_type()
    few, more = (
        study.fold(config, windows, RegimeJob(fold=0, method="none", nights=n)) for n in (1, 2)
    )
    assert few.test.subjects == more.test.subjects
    assert set(few.train.subjects) < set(more.train.subjects)
    assert not set(more.train.subjects) & set(more.valid.subjects)
    assert len(result.figure.axes) == 4
    with pytest.raises(ValueError, match="`nights` must be from 1 to 3"):
        study.jobs(study.config_type(nights=(4,)), windows)


def test_mnist_searches_digits(tmp_path):
    _, result = quick("mnist", tmp_path)
    assert result.plan.data.name == "scikit-learn's digits"
    rows = {record.job.method: record.result.rows for record in result.records}
    assert rows["classwise:random"] == rows["cadda"] == ("4", "6", "8", "9")
    assert rows["random"] == ("*",)
    figure = result.figure
    assert len(figure.axes) == 3
    assert [axes.get_legend() for axes in figure.axes] == [None] * 3
    assert len(figure.legends) == 1
    assert json.loads(result.plan.to_json())["jobs"]


def test_images_of_a_fold_are_on_one_side_only():
    windows = read_digits(digits=(4, 6, 8, 9))
    fold = _fold(MnistConfig(per_class=20, valid_per_class=30), windows, 0)
    np.testing.assert_array_equal(fold.train.class_counts(), 20)
    np.testing.assert_array_equal(fold.valid.class_counts(), 30)
    names = [set(part.subjects) for part in (fold.train, fold.valid, fold.test)]
    assert not names[0] & names[1]
    assert not (names[0] | names[1]) & names[2]


def test_digits_of_scikit_learn_look_like_mnist():
    windows = read_digits(digits=(8, 4))
    assert windows.x.shape[1:] == (28, 28)
    assert windows.class_names == ("8", "4")
    assert 0 <= float(windows.x.min()) < float(windows.x.max()) <= 1
    # An 8 has two holes, so that its middle is filled; a 4 is symmetric in no way.
    eights = windows.x[windows.y == 0].mean(0)
    fours = windows.x[windows.y == 1].mean(0)
    flipped = [float((image - image.flip(1)).square().mean()) for image in (eights, fours)]
    assert flipped[0] < flipped[1] / 2


def test_studies_of_races_are_listed():
    for name in ("search-race", "ablation", "selected-operations", "data-regime", "mnist"):
        assert find_study(name).scales.keys() == {"quick", "cpu", "paper"}


def test_compare_has_a_page_with_each_subject(tmp_path):
    _, result = quick("compare", tmp_path)
    page = result.report.read_text()
    assert all(f">{name}</th>" in page for name in ("none", "adda", "sub-01", "sub-06"))
    assert "Failed jobs" not in page
    assert "jobs are missing" not in page


def test_the_page_says_why_jobs_failed(tmp_path):
    changes = {"n_windows": 12, "n_subjects": 6}  # too few for all stages in each part
    result = run_study("compare", scale="quick", settings=changes, out=tmp_path)
    page = html.unescape(result.report.read_text())
    assert page.count("2 of 4 jobs are missing.") == 1
    (_, error), _ = result.progress.failures
    assert f"<li>adda, fold 1, seed 0: {error}.</li>" in page
