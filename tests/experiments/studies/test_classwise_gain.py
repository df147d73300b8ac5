"""Two operations that share the classes: all ways are tried, the best by validation is shown."""

from __future__ import annotations

import json

import pytest

from cadda import PolicySpec, Windows, evaluate, fit, simulate_sleep
from cadda.data.splits import balanced_subset
from cadda.experiments.studies.classwise_gain import ClasswiseGainJob, ClasswiseGainStudy
from cadda.experiments.study import Record, make_config
from cadda.experiments.training import TrainingScores, make_fold

STUDY = ClasswiseGainStudy()
QUICK = make_config(STUDY, "quick", {})


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=6, n_windows=40)


def test_all_ways_to_assign_two_operations(windows: Windows) -> None:
    changes = {"n_folds": 2, "operations": "sign_flip,time_reverse,channel_dropout"}
    jobs = STUDY.jobs(make_config(STUDY, "quick", changes), windows)
    policies = [json.dumps(job.policy) for job in jobs if job.fold == 1]
    assert len(jobs) == 2 * len(policies)
    assert len(set(policies)) == len(policies) == 1 + 3 + 3 * (2**5 - 2)
    used = [{operation for operation, _ in job.policy.values()} for job in jobs]
    assert max(map(len, used)) == 2
    classwise = [job.policy for job in jobs if len(job.policy) == 5]
    assert all(list(policy) == list(windows.class_names) for policy in classwise)
    assert ("channel_dropout", 0.4) in classwise[-1].values()


def test_a_job_trains_on_as_many_windows_of_each_class(windows: Windows) -> None:
    policy = {
        name: ("channel_dropout", 0.4) if name == "N3" else ("sign_flip", None)
        for name in windows.class_names
    }
    result = STUDY.run(QUICK, windows, ClasswiseGainJob(fold=0, policy=policy))
    fold = make_fold(QUICK, balanced_subset(windows, seed=0), 0)
    text = "".join(
        f"[{name}]\n{operation} p=0.5{' m=0.4' if magnitude else ''}\n"
        for name, (operation, magnitude) in policy.items()
    )
    fitted = fit(
        fold.train,
        fold.valid,
        model="shallow",
        policy=PolicySpec.from_text(text),
        max_epochs=1,
        batch_size=32,
        copies=0,
        seed=fold.seed,
    )
    assert result.valid_loss == fitted.history[0].valid_loss
    assert result.f1_per_class == evaluate(fitted, fold.test).f1_per_class


def made_up(
    windows: Windows, best: dict[str, str], n_folds: int = 3
) -> list[Record[ClasswiseGainJob, TrainingScores]]:
    """Make records in which one assignment is the best on validation."""
    records = []
    for job in STUDY.jobs(make_config(STUDY, "quick", {"n_folds": n_folds}), windows):
        policy = {name: operation for name, (operation, _) in job.policy.items()}
        is_best = policy == best
        score = 0.5 + (0.02 if "*" in policy else 0.0) + (0.05 if is_best else 0.0)
        # A lucky test score must not decide.
        is_lucky = policy == dict.fromkeys(best, "sign_flip") | {"R": "channel_dropout"}
        result = TrainingScores(
            balanced_accuracy=0.99 if is_lucky else score,
            macro_f1=score,
            f1_per_class=dict.fromkeys(windows.class_names, score / 2),
            valid_balanced_accuracy=score,
            valid_loss=1.0,
            best_epoch=1,
            n_epochs=1,
            n_train=10,
        )
        records.append(Record(job, result))
    return records


BEST = {
    "W": "channel_dropout",
    "N1": "sign_flip",
    "N2": "sign_flip",
    "N3": "channel_dropout",
    "R": "sign_flip",
}


def test_the_best_by_validation_is_compared(windows: Windows) -> None:
    table = STUDY.table(made_up(windows, BEST))
    rows = {row["augmentation"]: row for row in table.to_dict()["rows"]}
    assert list(rows) == ["sign_flip", "channel_dropout", "class-wise"]
    assert rows["class-wise"]["gain (%)"] == pytest.approx(10)
    assert rows["sign_flip"]["gain (%)"] == pytest.approx(4)
    assert rows["class-wise"]["validation"] == pytest.approx(0.55)
    assert "best of 30" in table.note
    assert "channel dropout for W, N3; sign flip for N1, N2, R" in table.note


def test_figure(windows: Windows) -> None:
    left, right = STUDY.figure(made_up(windows, BEST)).axes
    assert [label.get_text() for label in left.get_xticklabels()] == list(windows.class_names)
    assert len(left.patches) == 3 * 5
    points = [line for line in right.lines if line.get_marker() == "."]
    assert [line.get_ydata() for line in points] == [
        pytest.approx([gain] * 3) for gain in (0.04, 0.04, 0.1)
    ]
    assert "channel dropout for W, N3" in left.get_xlabel()
    boxes = [label.get_text() for label in right.get_xticklabels()]
    assert boxes == ["sign\nflip", "channel\ndropout", "class-wise"]


def test_some_results_are_enough(windows: Windows) -> None:
    records = made_up(windows, BEST, n_folds=2)
    for n_done in (1, 2, 3, 5, len(records) // 2 + 5):
        STUDY.figure(records[:n_done])
        STUDY.table(records[:n_done])
    # Those with one fold only are not compared with those that have both.
    note = STUDY.table(records[: len(records) // 2 + 8]).note
    assert "best of 5 " in note


def test_one_operation_is_not_enough(windows: Windows) -> None:
    config = make_config(STUDY, "quick", {"operations": "sign_flip"})
    with pytest.raises(ValueError, match="`operations` must name at least two, got sign_flip"):
        STUDY.jobs(config, windows)
