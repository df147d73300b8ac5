"""The benchmarks still run: each does its smallest piece of work once."""

import importlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cadda

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name):
    assert importlib.import_module(name).__doc__


def test_benchmarks_do_not_need_pytest():
    script = f"import sys; sys.modules['pytest'] = None; sys.path.insert(0, {str(FOLDER)!r})\n"
    script += "\n".join(f"import {name}" for name in NAMES)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("method", ["adda", "cadda", "dada", "faster_autoaugment"])
def test_a_step_of_each_method_is_timed(method, monkeypatch):
    search_cost = importlib.import_module("search_cost")
    called = []

    def milliseconds(steps, seconds):
        for name, step in steps.items():
            step()
            called.append(name)
        return dict.fromkeys(steps, 2.0)

    monkeypatch.setattr(search_cost, "milliseconds", milliseconds)
    task = search_cost.make(n_windows=16, shape=(2, 300, 100.0))
    assert search_cost.ratios(task, [method], batch_size=8) == {method: 1.0}
    assert called == ["plain", method]


def test_planted_truth_is_searched():
    planted_truth = importlib.import_module("planted_truth")
    made = planted_truth.run("cadda", seed=0, n_epochs=1, changes={})
    # Nothing has moved during the warm-up, so nothing is found or rejected yet.
    assert planted_truth.success(np.array(made["applied"]) + 1e-3) == {
        "found": False,
        "rejected": False,
    }


@pytest.mark.parametrize("method", ["adda", "fast_autoaugment", "population"])
def test_points_of_a_budget_are_kept(method, monkeypatch):
    search_budget = importlib.import_module("search_budget")
    monkeypatch.setattr(search_budget, "TRAINING", cadda.training.TrainingSettings(max_epochs=1))
    operations = search_budget.OPERATIONS[:3]
    made = search_budget.run(method, classwise=True, seed=0, budget=8, operations=operations)
    assert [point["budget"] for point in made["points"]] == [1, 2, 4, 8]
    assert np.shape(made["points"][0]["applied"]) == (4, 3)
    assert set(search_budget.curves([made], operations)) == {"found", "rejected"}


def test_estimators_are_compared(monkeypatch):
    estimator_variance = importlib.import_module("estimator_variance")
    for name, number in (("N_TRAINING_STEPS", 2), ("N_CONTROL_DRAWS", 2), ("N_DRAWS", 3)):
        monkeypatch.setattr(estimator_variance, name, number)
    situation = estimator_variance.Situation()
    made, exact = estimator_variance.estimates(situation, "window", paired=True)
    assert all(values.shape == (3, *exact.shape) for values in made.values())


def test_the_benefit_of_a_uniform_policy_is_measured():
    benefit = importlib.import_module("benefit")
    windows = cadda.simulate_sleep(n_subjects=4, n_windows=10, seed=0)
    split = windows.split(valid=0.25, test=0.25, seed=0)
    policy, seconds = benefit.policy_of("uniform", split, fold=0, n_epochs=1)
    assert seconds == 0
    assert np.ptp(policy.operation_probabilities()) == pytest.approx(0, abs=1e-6)
    assert benefit.interval(np.full(4, 0.5)) == (0.5, 0.5)


def fists(n_subjects=16, n_windows=4):
    rng = np.random.default_rng(0)
    subjects = np.repeat([f"s{i}" for i in range(n_subjects)], n_windows)
    return cadda.Windows(
        rng.standard_normal((len(subjects), 8, 200)),
        np.arange(len(subjects)) % 2,
        subject=subjects,
        sfreq=100.0,
        ch_names=["FC3", "FC4", "C3", "Cz", "C4", "CP3", "CP4", "Pz"],
        class_names=["left_fist", "right_fist"],
    )


def digits():
    labels = np.tile(np.arange(4), 60)
    parts = np.repeat(["train", "train", "test"], 80)
    rng = np.random.default_rng(0)
    return cadda.Windows(
        rng.random((240, 28, 28)),
        labels,
        subject=[f"{part}-{i // 40}" for i, part in enumerate(parts)],
        recording=parts,
        sfreq=1.0,
        ch_names=[f"row {i}" for i in range(28)],
        class_names=["4", "6", "8", "9"],
    )


def test_few_subjects_are_trained_on_and_all_others_tested():
    equivariance = importlib.import_module("equivariance")
    windows = fists()
    splits = [equivariance.subject_split(windows, size, draw=3) for size in (2, 8)]
    for size, parts in zip((2, 8), splits, strict=True):
        assert [len(part.subjects) for part in parts] == [size, 4, 12 - size]
        assert sum(map(len, parts)) == len(windows)
        assert len({subject for part in parts for subject in part.subjects}) == 16
    (small, valid, _), (large, same_valid, _) = splits
    assert set(small.subjects) < set(large.subjects)
    assert valid.subjects == same_valid.subjects
    assert equivariance.subject_split(windows, 2, draw=4)[0].subjects != small.subjects


def test_few_images_are_trained_on_and_all_test_images_tested():
    equivariance = importlib.import_module("equivariance")
    windows = digits()
    (small, valid, test), (large, _, _) = (
        equivariance.image_split(windows, size, draw=0) for size in (5, 20)
    )
    assert small.class_counts().tolist() == [5] * 4
    assert large.class_counts().tolist() == [20] * 4
    assert not set(small.subjects) & set(valid.subjects)
    assert len(test) == 80
    assert set(test.recording) == {"test"}
    images = {image.numpy().tobytes() for image in large.x}
    assert all(image.numpy().tobytes() in images for image in small.x)


@pytest.mark.parametrize("name", ["motor-imagery", "mnist"])
def test_every_policy_that_changes_the_class_is_trained(name):
    equivariance = importlib.import_module("equivariance")
    study = equivariance.STUDIES[name]
    study = replace(study, training={**study.training, "max_epochs": 1})
    split = study.split(digits() if name == "mnist" else fists(), 4, 0)
    made = {
        condition: equivariance.run(study, condition, split, seed=0)
        for condition in study.policies
    }
    assert all(0 <= result["balanced_accuracy"] <= 1 for result in made.values())
    assert made["twice"]["n_windows"][0] == 2 * made["none"]["n_windows"][0]
    assert set(study.kept) < set(made)


def trained(condition, size, draw, accuracy, loss=1.0):
    return {
        "study": "motor-imagery",
        "condition": condition,
        "size": size,
        "draw": draw,
        "balanced_accuracy": accuracy,
        "valid_loss": loss,
    }


def test_the_best_operation_is_chosen_by_validation_loss():
    equivariance = importlib.import_module("equivariance")
    kept = equivariance.STUDIES["motor-imagery"].kept
    records = [trained(name, 4, 0, 0.9, loss=2 + i) for i, name in enumerate(kept[1:])]
    records += [trained(kept[0], 4, 0, 0.6, loss=1), trained(kept[0], 4, 1, 0.7)]
    # Draw 1 lacks the other operations.
    assert equivariance.scores(records, "motor-imagery", "best kept") == {(4, 0): 0.6}


def test_gains_are_paired_by_draw():
    equivariance = importlib.import_module("equivariance")
    plain = {(4, 0): 0.5, (4, 1): 0.6, (4, 2): 0.7, (8, 0): 0.1}
    gain = equivariance.compare({(4, 2): 0.6, (4, 0): 0.8, (4, 3): 1.0}, plain, 4)
    assert gain.test.difference.value == pytest.approx((0.3 - 0.1) / 2)
    assert (gain.n_better, gain.n_draws) == (1, 2)
    assert equivariance.compare({(8, 0): 0.2}, plain, 8) is None
    assert equivariance.mean_by_size(plain) == {4: pytest.approx(0.6), 8: 0.1}


def test_half_of_the_draws_are_done_at_all_sizes_first():
    equivariance = importlib.import_module("equivariance")
    order = list(equivariance.plan((4, 8), range(3)))
    assert order == [(4, 0), (4, 1), (8, 0), (8, 1), (4, 2), (8, 2)]


def test_results_survive_a_kill_while_writing(tmp_path, monkeypatch):
    records = importlib.import_module("records")
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    kept = records.Records("some")
    kept.get(lambda: {"value": 1}, key="a")
    with (tmp_path / "some.jsonl").open("a") as file:
        file.write('{"key": "b", "va')
    assert kept.get(lambda: {"value": 2}, key="b")["value"] == 2
    assert kept.get(lambda: pytest.fail("computed again"), key="a")["value"] == 1
    assert len(kept.all()) == 2


def test_a_draw_is_probed(tmp_path):
    probe = importlib.import_module("probe")
    y = np.arange(24) % 2
    windows = cadda.Windows(
        np.random.default_rng(0).standard_normal((24, 2, 100)),
        y,
        subject=np.arange(24) // 8,
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["left_fist", "right_fist"],
    )
    operations = cadda.operation_pool(windows, operations=["channel_symmetry"])
    task = probe.Task(lambda folder, number: windows, probe.no_map, operations=operations)
    made = probe.run(task, tmp_path, 0)
    assert task.is_right(made["maps"])
    assert set(made["kept"]) == {"channel_symmetry"}
    assert probe.exchanged_fists({"channel_symmetry": "left_fist ↔ right_fist"})
    assert probe.turned_digits({"rotation_180": "6 ↔ 9, 8 kept"})
    assert not probe.turned_digits({"rotation_90": "6 ↔ 9"})
