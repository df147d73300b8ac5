"""The benchmarks still run: each does its smallest piece of work once."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import mne
import numpy as np
import pytest
from rich.console import Console

import cadda

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(f"benchmarks.{path.stem}" for path in FOLDER.glob("[!_]*.py"))


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER.parent)
    yield
    for name in ("benchmarks", *NAMES):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name):
    assert importlib.import_module(name).__doc__


def test_benchmarks_do_not_need_pytest():
    script = (
        f"import sys; sys.modules['pytest'] = None; sys.path.insert(0, {str(FOLDER.parent)!r})\n"
    )
    script += "\n".join(f"import {name}" for name in NAMES)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def run_command(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks", *arguments],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_benchmarks_are_listed_with_a_line_each():
    done = run_command()
    assert done.returncode == 0, done.stderr
    listed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[2:])
    with_main = [name for name in NAMES if hasattr(importlib.import_module(name), "main")]
    assert [f"benchmarks.{name}" for name in listed] == with_main
    for name, line in listed.items():
        assert importlib.import_module(f"benchmarks.{name}").__doc__.splitlines()[0] == line


def test_a_benchmark_is_run_by_its_name():
    done = run_command("stacked", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python -m benchmarks stacked")
    done = run_command("staked")
    assert done.returncode == 2
    assert "there is no benchmark 'staked' (did you mean `stacked`?)" in done.stderr


@pytest.mark.filterwarnings("ignore")  # braindecode and MNE warn of what they will change
def test_ratios_are_compared_with_what_is_wanted(monkeypatch):
    """Every ratio of `make bench`, all alternatives taking equally long."""
    for name in ("speed", "training", "search_cost"):
        module = importlib.import_module(f"benchmarks.{name}")
        monkeypatch.setattr(module, "milliseconds", lambda calls, seconds: dict.fromkeys(calls, 2))
    stacked = importlib.import_module("benchmarks.stacked")
    monkeypatch.setattr(stacked, "compare", lambda *sizes: (1.0, 3.0))
    summary = importlib.import_module("benchmarks.summary")
    console = Console(file=StringIO(), width=200)
    made = list(summary.measure(0.1, console))
    got = {ratio.what: ratio.row() for ratio in made}
    assert len(got) == len(made) > 30
    assert got["step of adda, 2 × 3000: plain steps"][1:] == ("1.00", "≤ 5", "met")
    assert got["bandstop, 2 × 3000 at 100 Hz: × braindecode"][1:] == ("1.00", "≥ 50", "MISSED")
    assert got["LeNet-1, batch 16: stacked / one by one"][1:] == ("3.00", "≥ 2", "met")
    n_missed = sum(not ratio.is_met for ratio in made)
    assert summary.table_of(made).caption == f"{n_missed} of {len(made)} missed"


@pytest.mark.parametrize("method", ["adda", "cadda", "dada", "faster_autoaugment"])
def test_a_step_of_each_method_is_timed(method, monkeypatch):
    search_cost = importlib.import_module("benchmarks.search_cost")
    called = []

    def milliseconds(steps, seconds):
        for name, step in steps.items():
            step()
            called.append(name)
        return dict.fromkeys(steps, 2.0)

    monkeypatch.setattr(search_cost, "milliseconds", milliseconds)
    task = search_cost.make(n_windows=16, shape=(2, 300, 100.0))
    assert search_cost.plain_steps(task, [method], batch_size=8) == {method: 1.0}
    assert called == ["plain", method]


def test_planted_truth_is_searched():
    planted_truth = importlib.import_module("benchmarks.planted_truth")
    made = planted_truth.run("cadda", seed=0, n_epochs=1, changes={})
    # Nothing has moved during the warm-up, so nothing is found or rejected yet.
    assert planted_truth.success(np.array(made["applied"]) + 1e-3) == {
        "found": False,
        "rejected": False,
    }


@pytest.mark.parametrize("method", ["adda", "fast_autoaugment", "population"])
def test_points_of_a_budget_are_kept(method, monkeypatch):
    search_budget = importlib.import_module("benchmarks.search_budget")
    monkeypatch.setattr(search_budget, "TRAINING", cadda.training.TrainingSettings(max_epochs=1))
    operations = search_budget.OPERATIONS[:3]
    made = search_budget.run(method, classwise=True, seed=0, budget=8, operations=operations)
    assert [point["budget"] for point in made["points"]] == [1, 2, 4, 8]
    assert np.shape(made["points"][0]["applied"]) == (4, 3)
    assert set(search_budget.curves([made], operations)) == {"found", "rejected"}


def test_estimators_are_compared(monkeypatch):
    estimator_variance = importlib.import_module("benchmarks.estimator_variance")
    for name, number in (("N_TRAINING_STEPS", 2), ("N_CONTROL_DRAWS", 2), ("N_DRAWS", 3)):
        monkeypatch.setattr(estimator_variance, name, number)
    situation = estimator_variance.Situation()
    made, exact = estimator_variance.estimates(situation, "window", paired=True)
    assert all(values.shape == (3, *exact.shape) for values in made.values())


def test_the_benefit_of_a_uniform_policy_is_measured():
    benefit = importlib.import_module("benchmarks.benefit")
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
    equivariance = importlib.import_module("benchmarks.equivariance")
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
    equivariance = importlib.import_module("benchmarks.equivariance")
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
    equivariance = importlib.import_module("benchmarks.equivariance")
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
    equivariance = importlib.import_module("benchmarks.equivariance")
    kept = equivariance.STUDIES["motor-imagery"].kept
    records = [trained(name, 4, 0, 0.9, loss=2 + i) for i, name in enumerate(kept[1:])]
    records += [trained(kept[0], 4, 0, 0.6, loss=1), trained(kept[0], 4, 1, 0.7)]
    # Draw 1 lacks the other operations.
    assert equivariance.scores(records, "motor-imagery", "best kept") == {(4, 0): 0.6}


def test_gains_are_paired_by_draw():
    equivariance = importlib.import_module("benchmarks.equivariance")
    plain = {(4, 0): 0.5, (4, 1): 0.6, (4, 2): 0.7, (8, 0): 0.1}
    gain = equivariance.compare({(4, 2): 0.6, (4, 0): 0.8, (4, 3): 1.0}, plain, 4)
    assert gain.test.difference.value == pytest.approx((0.3 - 0.1) / 2)
    assert (gain.n_better, gain.n_draws) == (1, 2)
    assert equivariance.compare({(8, 0): 0.2}, plain, 8) is None
    assert equivariance.mean_by_size(plain) == {4: pytest.approx(0.6), 8: 0.1}


def test_half_of_the_draws_are_done_at_all_sizes_first():
    equivariance = importlib.import_module("benchmarks.equivariance")
    order = list(equivariance.plan((4, 8), range(3)))
    assert order == [(4, 0), (4, 1), (8, 0), (8, 1), (4, 2), (8, 2)]


def test_results_survive_a_kill_while_writing(tmp_path, monkeypatch):
    records = importlib.import_module("benchmarks.records")
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    kept = records.Records("some")
    kept.get(lambda: {"value": 1}, key="a")
    with (tmp_path / "some.jsonl").open("a") as file:
        file.write('{"key": "b", "va')
    assert kept.get(lambda: {"value": 2}, key="b")["value"] == 2
    assert kept.get(lambda: pytest.fail("computed again"), key="a")["value"] == 1
    assert len(kept.all()) == 2


def test_a_draw_is_probed(tmp_path):
    probe = importlib.import_module("benchmarks.probe")
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


def two_channels(seed):
    x = np.random.default_rng(seed).standard_normal((64, 2, 200))
    subjects = [f"s{number // 8}" for number in range(64)]
    names = {"ch_names": ["C3", "C4"], "class_names": ["left_fist", "right_fist"]}
    return cadda.Windows(x, np.arange(64) // 2 % 2, subject=subjects, sfreq=100.0, **names)


@pytest.fixture
def tiny(import_path, tmp_path, monkeypatch):
    """A panel of one small set, in which every condition takes seconds."""
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    records = importlib.import_module("benchmarks.records")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    data = panel_sets.PanelSet(
        number=9,
        title="tiny",
        read=lambda folder, draw: two_channels(draw),
        sizes=(6,),
        n_draws=2,
        model="shallow",
        training=cadda.training.TrainingSettings(max_epochs=2),
    )
    monkeypatch.setitem(panel_sets.SETS, "tiny", data)
    monkeypatch.setitem(panel_plan.BUDGETS, "auto", 24)
    monkeypatch.setattr(panel_sets, "FIRST_DRAW", 0)
    return [panel_sets.Cell("tiny", 6, draw) for draw in range(2)]


def run_tiny(cells, conditions, tmp_path):
    """Run a part of the panel in this process, and return its records and what was printed."""
    panel, records = (
        importlib.import_module("benchmarks.panel"),
        importlib.import_module("benchmarks.records"),
    )
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    output = StringIO()
    assert panel.run_plan(
        panel_plan.panel_plan(cells, conditions),
        records.Records("panel"),
        folder=tmp_path,
        work=tmp_path / "work",
        engine="serial",
        console=Console(file=output, width=200),
    ), output.getvalue()
    return records.Records("panel").all(), output.getvalue()


def test_usable_subjects_take_turns_and_all_others_are_tested(tiny, tmp_path):
    cell = tiny[0]
    parts = [cell.parts(tmp_path, rotation) for rotation in range(3)]
    test = set(parts[0].test.subjects)
    usable = [subject for part in parts for subject in part.valid.subjects]
    assert len(test) == 2
    assert sorted([*usable, *test]) == [f"s{number}" for number in range(8)]
    for part in parts:
        assert set(part.train.subjects) == set(usable) - set(part.valid.subjects)
        assert set(part.test.subjects) == test
    assert set(tiny[1].parts(tmp_path, 0).test.subjects) != test


def test_small_draws_are_part_of_large_ones_and_fresh_subjects_are_the_same(
    tiny, tmp_path, monkeypatch
):
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    data = replace(tiny[0].data, number=8, sizes=(3, 6), n_fresh=2)
    monkeypatch.setitem(panel_sets.SETS, "nested", data)
    small, large = (panel_sets.Cell("nested", size, 0).parts(tmp_path, 0) for size in data.sizes)
    subjects = [{*parts.train.subjects, *parts.valid.subjects} for parts in (small, large)]
    assert subjects[0] < subjects[1]
    assert small.test.subjects == large.test.subjects


def test_labels_are_permuted_within_subjects(tiny, tmp_path):
    plain, permuted, again = (
        replace(tiny[0], permuted=is_permuted).parts(tmp_path, 0).train
        for is_permuted in (False, True, False)
    )
    assert not permuted.y.equal(plain.y)
    assert permuted.x.equal(plain.x)
    assert again.y.equal(plain.y)
    for subject in plain.subjects:
        counts = [part.of_subjects([subject]).class_counts() for part in (plain, permuted)]
        assert counts[0].tolist() == counts[1].tolist()


def test_the_panel_is_computed_once(tiny, tmp_path):
    panel_table = importlib.import_module("benchmarks.panel_table")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    made, output = run_tiny(tiny, ["none", "guided"], tmp_path)
    kinds = [record["job"] for record in made]
    # Training with a guided policy that is none would repeat training without augmentation.
    n_guided = sum(not record["is_none"] for record in made if record["job"] == "search")
    assert kinds.count("search") == 2
    assert kinds.count("training") == 6 * (2 + n_guided)
    assert f"{len(made)} of {len(made)}, 0 s left" in output.splitlines()[-1]
    again, output = run_tiny(tiny, ["none", "guided"], tmp_path)
    assert (again, output) == (made, "")
    (row,) = panel_table.panel_rows(panel_plan.Kept(made))
    trained = [record for record in made if record.get("condition") == "none"]
    for draw in range(2):
        accuracies = [r["balanced_accuracy"] for r in trained if r["draw"] == draw]
        assert row.scores["none"][draw] == pytest.approx(np.mean(accuracies))


def test_auto_is_compared_with_its_promise(tiny, tmp_path):
    panel_table = importlib.import_module("benchmarks.panel_table")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    made, _ = run_tiny(tiny, ["none", "duplicates", "auto"], tmp_path)
    kept = panel_plan.Kept(made)
    searches = [record for record in made if "race" in record]
    assert len(searches) == 2
    assert all(record["race"]["n_runs"] <= 24 for record in searches)
    assert panel_table.answers(kept, "tiny", 6) == [not record["is_none"] for record in searches]
    bounded = [record for record in searches if record["race"].get("low") is not None]
    found = panel_table.promises(kept)
    assert [promise.low for promise in found] == [record["race"]["low"] for record in bounded]


def searched(cell, condition, **values):
    key = {"job": "search", "set": cell.set, "n_usable": cell.n_usable, "draw": cell.draw}
    times = {"seconds": 10.0, "processor_seconds": 9.0}
    return key | {"condition": condition, "is_none": False} | times | values


def trained_in(cell, condition, *accuracies):
    return [
        searched(cell, condition, job="training", rotation=number, balanced_accuracy=accuracy)
        for number, accuracy in enumerate(accuracies * 2)
    ]


def test_trials_get_as_many_runs_as_auto(tiny, monkeypatch):
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    cell, plan = tiny[0], panel_plan.panel_plan(tiny[:1], ["random"])
    assert plan.all_jobs(panel_plan.Kept([])) == []
    monkeypatch.setitem(panel_sets.SETS, "tiny", replace(cell.data, has_trials=True))
    ready = list(plan.ready(panel_plan.Kept([])))
    assert [job.title for job in ready] == ["search tiny 6 0 guided"]
    probed = searched(cell, "guided")
    raced = searched(cell, "auto", race={"n_runs": 17})
    (job,) = plan.ready(panel_plan.Kept([probed, raced]))
    assert (job.condition, job.budget) == ("random", 17)


def test_searches_after_a_probe_use_that_of_guided(tiny, tmp_path):
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    ready = list(panel_plan.panel_plan(tiny[:1], ["probed-adda"]).ready(panel_plan.Kept([])))
    assert [job.condition for job in ready] == ["guided"]
    made, _ = run_tiny(tiny[:1], ["probed-adda"], tmp_path)
    conditions = [record["condition"] for record in made if record["job"] == "search"]
    assert conditions == ["guided", "probed-adda"]
    folder = tmp_path / "work" / tiny[0].name
    probes = [(folder / name / "probe.json").read_bytes() for name in conditions]
    assert probes[0] == probes[1]


def test_cheap_conditions_come_first_in_all_draws(tiny):
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    plan = panel_plan.panel_plan(tiny[::-1], ["adda", "auto", "none", "uniform"])
    ready = plan.ready(panel_plan.Kept([]))
    order = list(dict.fromkeys((job.condition, job.cell.draw) for job in ready))
    first = [("none", 0), ("uniform", 0), ("none", 1), ("uniform", 1)]
    assert order == [*first, ("guided", 0), ("guided", 1), ("adda", 0), ("adda", 1)]


def test_an_answer_of_none_is_not_trained_but_its_candidate_is(tiny):
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    panel_table = importlib.import_module("benchmarks.panel_table")
    cell = tiny[0]
    race = {"true_condition": "auto, candidate", "candidate_policy": "sign_flip p=0.5"}
    raced = searched(cell, "auto", is_none=True, race=race | {"low": 0.05, "high": 0.15})
    raced["race"]["is_held_out"] = True
    records = [searched(cell, "guided"), raced]
    kept = panel_plan.Kept(records)
    ready = list(panel_plan.panel_plan([cell], ["auto"]).ready(kept))
    assert [job.condition for job in ready] == ["auto, candidate"] * 6
    assert {job.policy for job in ready} == {"sign_flip p=0.5"}
    records += trained_in(cell, "none", 0.5, 0.6, 0.7)
    records += trained_in(cell, "auto, candidate", 0.6, 0.7, 0.83)
    kept = panel_plan.Kept(records)
    (row,) = panel_table.panel_rows(kept)
    assert row.scores["auto"] == row.scores["none"] == {0: pytest.approx(0.6)}
    (promise,) = panel_table.promises(kept)
    assert promise.gain == pytest.approx(0.11)
    spreads = np.std([[0.5, 0.6, 0.7] * 2, [0.6, 0.7, 0.83] * 2], axis=1, ddof=1)
    assert promise.error == pytest.approx(np.sqrt((spreads**2).sum() / 6))
    assert promise.is_kept


def test_the_error_of_a_gain_is_taken_into_account():
    panel_table = importlib.import_module("benchmarks.panel_table")
    rng = np.random.default_rng(0)
    true, half = 0.1, 0.02 * 1.645
    stated, measured = true + 0.02 * rng.normal(size=(2, 20_000))
    made = [
        panel_table.Promise(middle - half, middle + half, gain, 0.02, is_held_out=True)
        for middle, gain in zip(stated, measured, strict=True)
    ]
    assert np.mean([promise.is_kept for promise in made]) == pytest.approx(0.755, abs=0.01)
    assert np.mean([promise.is_plausible for promise in made]) == pytest.approx(0.9, abs=0.01)


def test_no_answer_is_told(tiny):
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    panel_table = importlib.import_module("benchmarks.panel_table")
    cell = tiny[0]
    kept = panel_plan.Kept([searched(cell, "auto", is_none=True)])
    assert panel_table.answers(kept, "tiny", 6) == [False]


def test_policies_of_other_sets_are_tried_where_they_fit(tiny, tmp_path, monkeypatch):
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    carry_over = importlib.import_module("benchmarks.carry_over")
    cell, data = tiny[0], tiny[0].data
    for name in [name for name in panel_sets.SETS if name != "tiny"]:
        monkeypatch.delitem(panel_sets.SETS, name)
    others = [panel_sets.Cell(name, 6, 0) for name in ("flips", "turns", "maps", "nothing")]
    for other in others:
        monkeypatch.setitem(panel_sets.SETS, other.set, replace(data, title=other.set))
    texts = (
        "sign_flip p=0.5",
        "rotation_x p=0.5 m=1",  # two channels are not enough
        "channel_symmetry p=0.5 -> {left: right, right: left}",  # the classes are others
        "none",
    )
    panel = panel_plan.Kept(
        [
            searched(other, "auto", policy=text, is_none=text == "none")
            for other, text in zip(others, texts, strict=True)
        ]
    )
    found = carry_over.policies(cell, panel, tmp_path)
    assert "flips" in found
    assert not {"turns", "maps", "nothing", "tiny"} & set(found)
    panel_records = trained_in(cell, "none", 0.5, 0.5, 0.5)
    panel_records += trained_in(tiny[1], "none", 0.5, 0.5, 0.5)
    records = trained_in(cell, "flips", 0.5, 0.6, 0.7) + trained_in(
        tiny[1], "flips", 0.7, 0.6, 0.8
    )
    (row,) = carry_over.gains(panel_plan.Kept(records), panel_plan.Kept(panel_records)).items()
    assert row[0] == "flips"
    assert row[1]["tiny"].test.difference.value == pytest.approx(0.15)


def test_scores_of_a_draw_need_all_training_runs(tiny):
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    panel_table = importlib.import_module("benchmarks.panel_table")
    records = trained_in(tiny[0], "none", 0.5, 0.6, 0.7) + trained_in(tiny[1], "none", 0.5, 0.6)
    (row,) = panel_table.panel_rows(panel_plan.Kept(records))
    assert row.scores["none"] == {0: pytest.approx(0.6)}


def slow_epochs(path):
    """Write epochs of eight subjects: an oscillation of 10 Hz on a slow drift that differs."""
    rng = np.random.default_rng(0)
    time = np.arange(400) / 100
    drift = 5e-5 * rng.standard_normal((32, 2, 1)) * (time - 2)
    x = 1e-5 * np.sin(2 * np.pi * 10 * time) + drift
    metadata = [{"subject": f"s{number // 4}"} for number in range(32)]
    events = np.column_stack([np.arange(32), np.zeros(32, int), np.arange(32) % 2])
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    epochs = mne.EpochsArray(
        x, info, events, event_id={"left_fist": 0, "right_fist": 1}, verbose="error"
    )
    epochs.metadata = pytest.importorskip("pandas").DataFrame(metadata)
    epochs.save(path, verbose="error")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # MNE with pandas 3.1
def test_fists_above_4_hz_have_no_drift_left_at_their_ends(import_path, tmp_path):
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    slow_epochs(tmp_path / "motor-imagery-epo.fif.gz")
    plain, filtered = (
        data.read(tmp_path, 20)
        for data in (
            panel_sets.SETS["motor-imagery"],
            panel_sets.FILTERED["motor-imagery-4hz"],
        )
    )
    assert filtered.x.shape == (32, 2, 240)
    assert filtered.subject.tolist() == plain.subject.tolist()
    power = np.abs(np.fft.rfft(filtered.x.numpy())) ** 2
    at_10_hz = round(10 * filtered.x.shape[-1] / 100)
    # The oscillation alone is left.
    assert (power[..., at_10_hz] / power.sum(-1)).min() > 0.99


def test_units_are_compared_in_the_draws_that_both_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standardisation = importlib.import_module("benchmarks.standardisation")
    monkeypatch.setattr(importlib.import_module("benchmarks.records"), "RESULTS", tmp_path)
    cells = standardisation.recording_cells()
    assert {cell.set.removesuffix("-recording") for cell in cells} == {
        *("motor-imagery", "executed-fists", "fists-feet", "arithmetic", "simulated-sleep")
    }
    accuracy = {"panel": {20: 0.6, 21: 0.7, 22: 0.8}, "standardisation": {20: 0.7, 21: 0.9}}
    for file, by_draw in accuracy.items():
        name = "arithmetic" if file == "panel" else "arithmetic-recording"
        lines = [
            {"job": "training", "set": name, "n_usable": 12, "draw": draw, "condition": "none"}
            | {"rotation": number, "balanced_accuracy": value + number - 2.5, "seconds": 1.0}
            for draw, value in by_draw.items()
            for number in range(6)
        ]
        (tmp_path / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    (row,) = standardisation.differences()
    assert (row.title, row.n_usable) == ("mental arithmetic or rest", 12)
    assert (row.window, row.recording) == (pytest.approx(0.65), pytest.approx(0.8))
    assert row.gain.test.difference.value == pytest.approx(0.15)
    assert (row.gain.n_better, row.gain.n_draws) == (2, 2)


def test_draws_above_4_hz_are_those_of_the_panel(import_path):
    panel_sets = importlib.import_module("benchmarks.panel_sets")
    highpassed = importlib.import_module("benchmarks.highpassed")
    cells = highpassed.highpassed_cells()
    assert {(cell.n_usable, cell.draw) for cell in cells} == {(12, draw) for draw in range(20, 25)}
    for cell in cells:
        usual = panel_sets.SETS[cell.set.removesuffix("-4hz")]
        assert cell.data.number == usual.number
        assert cell.data.training == usual.training
    assert highpassed.CONDITIONS == ("none", "duplicates", "uniform", "guided")
    # They are no part of the panel, nor of what is made from all of its sets.
    assert not set(panel_sets.FILTERED) & set(panel_sets.SETS)


def test_differences_of_draws_are_tested_as_by_scipy():
    from scipy.stats import ttest_rel

    panel_table = importlib.import_module("benchmarks.panel_table")
    rng = np.random.default_rng(0)
    made, plain = rng.random((2, 6))
    gain = panel_table.compare(dict(enumerate(made)), dict(enumerate(plain)) | {9: 0.5})
    expected = ttest_rel(made, plain)
    assert gain.test.p_value == pytest.approx(expected.pvalue)
    assert (gain.test.difference.low, gain.test.difference.high) == pytest.approx(
        tuple(expected.confidence_interval(0.95))
    )
    same = panel_table.compare(dict(enumerate(plain)), dict(enumerate(plain)))
    assert (same.test.p_value, same.test.difference.high) == (1, 0)
    assert panel_table.compare({0: 0.5}, {0: 0.4}) is None


def test_a_job_that_fails_is_not_repeated_and_does_not_stop_the_others():
    parallel = importlib.import_module("benchmarks.parallel")
    finished = {}

    def run(job):
        if job == "bad":
            raise ValueError(job)
        return {"value": job}

    def missing():
        yield from (job for job in ("bad", "good", "good") if job not in finished)

    for job, made in parallel.run_jobs(missing, run, engine="serial"):
        if isinstance(made, dict):
            finished[job] = made
        else:
            assert str(made) == "bad"
    assert finished == {"good": {"value": "good"}}


def test_claims_on_permuted_labels_are_counted():
    permuted = importlib.import_module("benchmarks.permuted")
    panel_plan = importlib.import_module("benchmarks.panel_plan")
    cells = permuted.permuted_cells()
    assert len(cells) == 40
    assert all(cell.permuted for cell in cells)
    kept = panel_plan.Kept([searched(cells[0], "auto", is_none=True), searched(cells[1], "auto")])
    claimed = permuted.claims(kept, cells)
    assert claimed == [False, True]
    assert "1 of 2" in permuted.describe_claims(claimed)


def test_time_is_estimated_from_similar_jobs(tiny):
    panel, panel_plan = (
        importlib.import_module("benchmarks.panel"),
        importlib.import_module("benchmarks.panel_plan"),
    )
    records = [*trained_in(tiny[0], "none", 0.5, 0.5, 0.5), searched(tiny[0], "uniform")]
    records[1]["seconds"] = 40.0
    kept = panel_plan.Kept(records)
    plan = panel_plan.panel_plan(tiny, ["none", "uniform", "adda"])
    # Of 40 jobs, 30 training runs of 15 s on average and a search of 10 s, in two processes.
    expected = "7 of 40, 4 min and 2 jobs without an estimate left"
    assert panel.progress(plan, kept, n_workers=2) == expected
    assert panel.status(plan, kept, 2).caption == expected


def test_the_gain_of_the_demo_is_that_of_a_paired_t_test():
    demo_seeds = importlib.import_module("benchmarks.demo_seeds")
    without = np.array([0.5, 0.6, 0.7, 0.6])
    gains = np.array([0.1, 0.2, 0.1, 0.2])
    made = demo_seeds.paired_gain(without + gains, without)
    # t = 0.15 / (0.0577 / 2) = 5.196 with 3 degrees of freedom.
    assert made["gain"] == pytest.approx(0.15)
    assert made["p"] == pytest.approx(0.01385, abs=1e-4)
    assert made["interval"] == pytest.approx([0.15 - 0.09187, 0.15 + 0.09187], abs=1e-4)
    assert demo_seeds.is_significant(made)
    assert not demo_seeds.is_significant(demo_seeds.paired_gain(without, without))


@pytest.mark.slow
def test_a_seed_of_the_demo(tmp_path, monkeypatch):
    demo_seeds = importlib.import_module("benchmarks.demo_seeds")
    training = cadda.TrainingSettings(batch_size=64, max_epochs=1)
    small = replace(demo_seeds.DEMOS["motor-imagery"], n_windows=2, training=training, budget=18)
    monkeypatch.setitem(demo_seeds.DEMOS, "motor-imagery", small)
    made = demo_seeds.key_of("motor-imagery", 1) | demo_seeds.run_seed(
        "motor-imagery", 1, tmp_path
    )
    assert made["n_windows"] == 2
    assert made["processor_seconds"] > 0
    console = Console(file=StringIO(), width=200)
    console.print(demo_seeds.table_of([made]))
    assert f"{made['gain']:+.3f}" in console.file.getvalue()


@pytest.mark.parametrize("name", ["shallow-360", "lenet1-400"])
def test_training_runs_of_a_race_are_counted(name, monkeypatch):
    race_throughput = importlib.import_module("benchmarks.race_throughput")
    monkeypatch.setattr(race_throughput, "ENGINE", "serial")
    setting = replace(race_throughput.SETTINGS[name], n_windows=48, least_share=0.5)
    made = race_throughput.measure(setting, n_runs=2, n_epochs=1, rate=1e9)
    assert min(made.serial, made.parallel, made.floor) > 0
    assert (made.stacked is None) == (name == "shallow-360")
    assert len(list(made.ratios())) == 2 + (made.stacked is not None)
    assert len(made.row()) == 5


def test_the_floor_of_a_race_is_the_arithmetic_of_its_network():
    """LeNet-1 by hand: of 48 images, 30 are trained on for three epochs, and 18 validate."""
    race_throughput = importlib.import_module("benchmarks.race_throughput")
    setting = replace(race_throughput.SETTINGS["lenet1-400"], n_windows=48)
    training = cadda.TrainingSettings(max_epochs=3, batch_size=12)
    race = race_throughput.Race(setting, setting.problem(), training, 1)
    first = 24**2 * 4 * 25
    others = 8**2 * 12 * 4 * 25 + 192 * 4
    # Backward, each product costs twice as much; the images themselves need no gradient.
    trained = 2 * (3 * (first + others) - first)
    n_operations = 3 * (30 * trained + 18 * 2 * (first + others))
    assert race.floor(1e9) == pytest.approx(60 * 1e9 / n_operations)


@pytest.fixture
def nights(import_path, tmp_path, monkeypatch):
    """Seven short nights, the last two of which are variations of others."""
    monkeypatch.setenv("CADDA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "nights"
    folder.mkdir()
    night_files = importlib.import_module("benchmarks.night_files")
    night_files.write_nights(7, folder, n_windows=40)
    return folder


def test_nights_have_the_names_of_sleep_physionet_and_differ(nights):
    windows = cadda.read_windows(nights)
    assert len(windows) == 7 * 40
    assert windows.subjects == ["SC400", "SC401", "SC402", "SC403"]
    assert sorted(path.name for path in nights.glob("SC400*-PSG.edf")) == [
        "SC4001E0-PSG.edf",
        "SC4002E0-PSG.edf",
    ]
    assert len({x.numpy().tobytes() for x in windows.x}) == len(windows)


def test_every_step_with_whole_data_sets_is_measured(nights, monkeypatch):
    night_steps = importlib.import_module("benchmarks.night_steps")
    monkeypatch.setattr(night_steps, "ENGINE", "serial")
    monkeypatch.setattr(night_steps, "N_SEARCH_STEPS", 1)
    made = {name: step(nights) | {"megabytes": 1} for name, step in night_steps.STEPS.items()}
    assert made["read"]["n_windows"] == made["cached"]["n_windows"] == 7 * 40
    assert made["train"]["n_windows"] < 7 * 40
    benchmark = importlib.import_module("benchmarks.nights")
    record = {"nights": 7, "load_before": 0.0, "steps": made}
    assert len(benchmark.row_of(record)) == len(benchmark.COLUMNS)
    assert [ratio.wanted for ratio in benchmark.ratios(record)] == [1.0, 2.0]


@pytest.mark.slow
def test_nights_are_measured_in_processes_and_removed(import_path, tmp_path):
    benchmark = importlib.import_module("benchmarks.nights")
    record = benchmark.measure(5, tmp_path, n_windows=40)
    assert all(step["megabytes"] > 50 for step in record["steps"].values())
    assert not list(tmp_path.iterdir())


def test_a_failed_measurement_leaves_no_files(import_path, tmp_path, monkeypatch):
    benchmark = importlib.import_module("benchmarks.nights")

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "write_nights", fail)
    with pytest.raises(KeyboardInterrupt):
        benchmark.measure(5, tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match=r"10000000 nights need .* choose another place"):
        benchmark.measure(10_000_000, tmp_path)


def test_jobs_on_workers_are_compared_with_the_ideal(import_path):
    cluster = importlib.import_module("benchmarks.cluster")
    serial = {"jobs_per_minute": 10.0}
    made = {"workers": 4, "cores": 2, "jobs_per_minute": 18.0}
    assert cluster.share_of_ideal({"kind": "waiting", **made}, serial) == pytest.approx(0.45)
    assert cluster.share_of_ideal({"kind": "training", **made}, serial) == pytest.approx(0.9)
    assert cluster.jobs_per_minute_waiting("serial", n_jobs=1) <= 60 / cluster.SECONDS


@pytest.mark.slow
def test_a_cluster_is_started_and_ended(import_path):
    cluster = importlib.import_module("benchmarks.cluster")
    with cluster.running_cluster(2) as address:
        assert cluster.jobs_per_minute_waiting(f"dask:{address}", n_jobs=4) > 0


def test_what_shorter_training_runs_would_have_decided():
    fewer_epochs = importlib.import_module("benchmarks.fewer_epochs")
    slow = [1.0, 0.9, 0.95, 0.94, 0.93, 0.5]
    assert fewer_epochs.stopped(slow, 3) == 5
    assert fewer_epochs.stopped(slow, 4) == 6
    assert fewer_epochs.given_up(slow, 0.8, 0.1, after=2) == 2
    assert fewer_epochs.given_up(slow, 0.8, 0.2, after=2) == 6
    losses = {"none": [[0.8]] * 8, "slow": [slow] * 8, "bad": [[0.9]] * 8}
    whole = fewer_epochs.outcome(losses, lambda run, _: len(run))
    np.testing.assert_allclose(whole.gains[:, 0], [0, np.log(0.8 / 0.5), np.log(0.8 / 0.9)])
    short = fewer_epochs.outcome(losses, lambda run, _: fewer_epochs.stopped(run, 3))
    assert (whole.n_epochs, short.n_epochs) == (8 * 8, 8 * 7)
    assert fewer_epochs.regret(short, whole) == (pytest.approx(np.log(0.8 / 0.5)), 0.0)
    assert fewer_epochs.regret(whole, whole) == (0.0, 1.0)
