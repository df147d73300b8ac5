"""`cadda compare`: blocks, jobs, table and figure of a comparison."""

import html
import json
import tomllib

import commands
import numpy as np
import pytest

import cadda
from cadda._internal.jsonlines import JsonLines
from cadda.experiments.comparison import CompareJob
from cadda.experiments.studies.compare import Compare, CompareConfig
from cadda.experiments.study import Record, to_toml

STUDY = Compare()
QUICK = {"model": "shallow", "max_epochs": 1, "n_folds": 2}


@pytest.fixture(scope="module")
def windows():
    return cadda.simulate_motor_imagery(n_subjects=7, n_windows=8, seed=0)


@pytest.fixture
def data(windows, tmp_path):
    file = tmp_path / "fists.npz"
    windows.save(file)
    return file


def run(*arguments, code=0):
    return commands.run("compare", *arguments, code=code)


def results(windows, methods, **settings):
    config = CompareConfig(**QUICK, methods=methods, **settings)
    jobs = STUDY.jobs(config, windows)
    return [Record(job, STUDY.run(config, windows, job)) for job in jobs]


def test_each_subject_is_tested_in_one_fold_with_every_seed(windows):
    config = CompareConfig(n_folds=3, n_seeds=2)
    jobs = [
        CompareJob(fold=fold, seed=seed, method="none") for fold in range(3) for seed in (0, 1)
    ]
    folds = [STUDY.fold(config, windows, job) for job in jobs]
    tested = [subject for fold in folds for subject in fold.test.subjects]
    assert sorted(tested) == sorted([*windows.subjects] * 2)
    for fold in folds:
        parts = (fold.train, fold.valid, fold.test)
        names = [subject for part in parts for subject in part.subjects]
        assert sorted(names) == sorted(windows.subjects)
    assert len({fold.seed for fold in folds}) == 6
    assert folds[0].test.subjects == folds[1].test.subjects


def test_conditions_of_a_block_differ_in_the_policy_only(windows, tmp_path):
    """A policy that is never applied trains the same model as no augmentation."""
    idle, active = tmp_path / "idle.txt", tmp_path / "active.txt"
    idle.write_text("time_reverse p=0")
    active.write_text("gaussian_noise p=1 m=1")
    plain, same, other = results(windows, ("none", str(idle), str(active)))[:3]
    assert plain.result.valid_loss == same.result.valid_loss
    assert plain.result.correct == same.result.correct
    assert plain.result.valid_loss != other.result.valid_loss
    assert plain.result.n_usable == 3


def test_counts_by_subject_add_up_to_the_score(windows):
    (first, *_) = results(windows, ("none",))
    counts, total = np.array(first.result.correct), np.array(first.result.n_windows)
    recall = counts.sum(0) / total.sum(0)
    assert recall.mean() == pytest.approx(first.result.balanced_accuracy)
    assert len(counts) == len(first.result.subjects) == 4
    assert (total.sum(1) == 8).all()


def test_none_is_always_compared():
    assert CompareConfig(methods=("adda", "adda")).methods == ("none", "adda")
    assert CompareConfig(methods="auto,none").methods == ("auto", "none")


def test_jobs_of_an_edited_policy_are_other_jobs(windows, tmp_path):
    file = tmp_path / "policy.txt"
    config = CompareConfig(**QUICK, methods=(str(file),), n_seeds=2)
    jobs = []
    for p in (0.5, 0.6):
        file.write_text(f"sign_flip p={p}")
        jobs.append(STUDY.jobs(config, windows))
    assert len(jobs[0]) == 8
    assert len({job.model_dump_json() for job in jobs[0] + jobs[1]}) == 12
    assert jobs[0][1].describe() == f"{file}, fold 1, seed 0"


def test_settings_that_do_not_fit_are_an_error_before_any_job(windows, tmp_path):
    with pytest.raises(ValueError, match="from 2 to the number of subjects, 7, got 9"):
        STUDY.jobs(CompareConfig(n_folds=9), windows)
    file = tmp_path / "policy.txt"
    file.write_text("channel_symmetry p=0.5 -> {left: right, right: left}")
    with pytest.raises(ValueError, match="label map must name classes of the data"):
        STUDY.jobs(CompareConfig(methods=(str(file),)), windows)
    with pytest.raises(ValueError, match="unknown operation"):
        STUDY.jobs(CompareConfig(operations=("sign_flop",)), windows)


def test_the_figure_shows_how_sure_gains_are(windows, tmp_path):
    file = tmp_path / "noise.txt"
    file.write_text("gaussian_noise p=1 m=1")
    records = results(windows, ("none", str(file)))
    table = STUDY.table(records)
    row = dict(zip(table.columns, table.rows[1], strict=True))
    left, right = STUDY.figure(records).axes
    accuracy, *_ = left.lines
    plain = dict(zip(table.columns, table.rows[0], strict=True))
    np.testing.assert_allclose(accuracy.get_xdata(), [plain["from"], plain["to"]], atol=1e-4)
    assert plain["from"] < plain["accuracy"] < plain["to"]
    subjects, interval, mean, zero = right.lines
    assert len(subjects.get_xdata()) == 7
    np.testing.assert_allclose(interval.get_xdata(), [row["low"], row["high"]], atol=1e-4)
    assert mean.get_xdata()[0] == pytest.approx(row["gain"], abs=1e-4)
    assert zero.get_xdata() == [0, 0]
    assert [text.get_text() for text in left.get_yticklabels()] == ["none", str(file)]
    nothing = STUDY.figure([records[1]])
    assert "nothing can be compared" in nothing.texts[0].get_text()


def test_the_command_compares_and_resumes(data, tmp_path):
    policy = tmp_path / "policy.txt"
    policy.write_text("sign_flip p=0.5")
    command = (
        *(data, "--methods", f"adda,{policy}", "--folds", "2", "--seeds", "2"),
        *("--max-seconds", "0.05"),
        *("--max-epochs", "1", "--model", "shallow", "--out", tmp_path / "out", "--json"),
    )
    done = run(*command)
    assert "Added `none`" in done.stderr
    first = json.loads(done.stdout)
    assert first["n_done"] == 12
    rows = {row["method"]: row for row in first["table"]["rows"]}
    assert list(rows) == ["none", "adda", str(policy)]
    assert rows["none"]["gain"] is None
    assert sum(row["choice"] == "chosen" for row in rows.values()) == 1
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert json.loads(run(*command).stdout)["table"] == first["table"]
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


def test_models_that_learn_nothing_are_reported(data, tmp_path):
    out = tmp_path / "out"
    command = (
        *(data, "--methods", "none", "--folds", "2", "--max-epochs", "1", "--lr", "1e-9"),
        *("--model", "shallow", "--out", out),
    )
    said = run(*command)
    expected = "Warning: none, fold 1, seed 0: the validation loss is not below chance: at best"
    assert expected in said.stderr
    assert "try another `--lr`" in said.stderr
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    stored = [text for line in lines for text in line["result"]["warnings"]]
    assert len(stored) >= 2
    page = html.unescape((out / "report.html").read_text("utf-8"))
    assert "<li>none, fold 1, seed 0: the validation loss is not below chance" in page
    content = json.loads(run(*command, "--json").stdout)
    assert len(content["warnings"]) == len(stored)
    assert [len(table["rows"]) for table in content["details"]] == [7]


def test_results_without_warnings_have_none(windows):
    (first, *_) = results(windows, ("none",))
    values = first.result.to_json() | {"warnings": []}
    old = type(first.result).model_validate(values)
    assert "warnings" not in old.to_json()
    assert STUDY.warnings([Record(first.job, old)]) == ()


def test_settings_of_operations(windows, tmp_path):
    """They change the policies of files that have none of their own, and old keys stay."""
    free, stored = tmp_path / "free.txt", tmp_path / "stored.txt"
    free.write_text("time_mask p=1 m=1")
    stored.write_text("time_mask p=1 m=1 max_length=1")
    methods = (str(free), str(stored))
    changed = {"operation_settings": {"time_mask": {"max_length": 0.5}}}
    before = results(windows, methods)[:3]
    after = results(windows, methods, **changed)[:3]
    losses = [[each.result.valid_loss for each in made] for made in (before, after)]
    assert [a == b for a, b in zip(*losses, strict=True)] == [True, False, True]
    assert "operation_settings" not in CompareConfig().result_key()
    config = CompareConfig(**changed)
    assert config.result_key()["operation_settings"] == changed["operation_settings"]
    assert CompareConfig(**tomllib.loads(to_toml(config))) == config
    wrong = CompareConfig(operation_settings={"time_mask": {"max_len": 1}})
    with pytest.raises(ValueError, match="`operation_settings`: operation `time_mask` has no"):
        STUDY.jobs(wrong, windows)


def test_searches_have_the_settings_of_operations(windows, data, tmp_path):
    out, quick = tmp_path / "out", ("--folds", "2", "--max-epochs", "1", "--model", "shallow")
    command = (data, "--methods", "trivial", *quick, "--operations", "time_mask,bandstop")
    run(*command, "--out", out)
    run(*command, "--out", out, "--operation-setting", "time_mask.max_length=0.1")
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    by_method = {}
    for line in lines:
        key = (line["job"]["method"], line["job"]["fold"])
        by_method.setdefault(key, []).append(line["result"]["valid_loss"])
    assert all(len(losses) == 2 for losses in by_method.values())
    assert by_method["none", 0][0] == by_method["none", 0][1]
    assert by_method["trivial", 0][0] != by_method["trivial", 0][1]
    said = run(*command, "--operation-setting", "time_mask.max_len=3", code=2).stderr
    assert "`--operation-setting`: operation `time_mask` has no setting" in said


def test_the_terminal_shows_each_subject(data, windows, tmp_path, monkeypatch):
    monkeypatch.setattr("cadda.cli.studies.MAX_SUBJECTS", 5)
    monkeypatch.setenv("COLUMNS", "80")
    command = (data, "--methods", "none,duplicates", "--folds", "2", "--max-epochs", "1")
    said = run(*command, "--model", "shallow", "--out", tmp_path / "out").stdout
    table = said[said.index("Balanced accuracy of each subject") :]
    assert [name in table for name in sorted(windows.subjects)] == [True] * 5 + [False] * 2
    assert "and 2 more: see the report, or --json" in table
    assert max(len(line) for line in said.splitlines() if "──" in line) <= 80
    assert "From, to: 90 % interval of the accuracy over 7 subjects" in " ".join(said.split())


def test_the_page_has_the_options_of_reading(data, tmp_path):
    out = tmp_path / "compared"
    options = ["--channels", "C3,C4", "--standardise", "recording", "--folds", "2"]
    run(data, "--methods", "none", *options, "--max-epochs", "1", "--out", out)
    page = html.unescape((out / "report.html").read_text("utf-8"))
    assert f'cadda.read_windows("{data}", channels=["C3", "C4"], standardise="recording"' in page
    assert "max_epochs = 1" in page
    # Settings of the simulation are none of a file.
    assert "n_subjects" not in page
    commands.run("report", out)
    assert html.unescape((out / "report.html").read_text("utf-8")) == page


def test_a_damaged_result_is_refused(data, tmp_path):
    options = (data, "--methods", "none", "--folds", "2", "--model", "shallow")
    options = (*options, "--max-epochs", "1", "--out", tmp_path / "out")
    run(*options)
    file = tmp_path / "out" / "results.jsonl"
    lines = JsonLines(file).read()
    file.write_text(file.read_text().replace('"n_epochs": 1', '"n_epochs": 2', 1))
    assert "line 1, was changed or damaged" in run(*options, code=2).stderr
    # A line without a checksum, or with another, must at least not contradict itself.
    lines[0]["result"]["correct"][0][0] += 1
    JsonLines(file).rewrite(lines)
    for refused in (run(*options, code=2), commands.run("report", tmp_path / "out", code=2)):
        assert "results.jsonl has a result that is not one of compare" in refused.stderr
        assert "remove the line" in refused.stderr


def test_a_budget_in_numbers_is_explained(data):
    said = run(data, "--budget", "12", code=2).stderr
    assert "`--budget` must be 'seconds' or 'default', got '12'" in said
    assert "`--max-seconds` limits" in said


def test_an_unknown_method_is_one_sentence(data, tmp_path):
    done = run(data, "--methods", "none,caddda", "--out", tmp_path / "out", code=2)
    assert "did you mean `cadda`" in done.stderr
    assert not (tmp_path / "out").exists()


def test_estimates_of_time(windows):
    """A race has a number of runs, and ends before its limit of time if these are short."""
    names = ("none", "auto", "adda")

    def seconds(**settings):
        config = CompareConfig(methods=names, max_seconds=100.0, **settings)
        return [
            STUDY.expected_seconds(config, windows, CompareJob(fold=0, seed=0, method=name))
            for name in names
        ]

    none, race, gradient = seconds(max_epochs=1)
    assert race == pytest.approx(121 * none)
    assert race < 100.0
    assert gradient == pytest.approx(100.0 + none)
    none, race, gradient = seconds(max_epochs=300)
    assert race == gradient == pytest.approx(100.0 + none)
