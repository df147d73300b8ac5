"""The benchmarks still run: each does its smallest piece of work once."""

import importlib
import subprocess
import sys
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
