"""The studies that train models with one operation at a time: manual and magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cadda import PolicySpec, Windows, evaluate, fit, simulate_sleep
from cadda.data.windows import Windows as WindowsType
from cadda.experiments.studies.single_operations import MagnitudesStudy, ManualJob, ManualStudy
from cadda.experiments.study import AnyStudy, Record, make_config
from cadda.experiments.training import OperationJob, TrainingScores, make_fold

MANUAL, MAGNITUDES = ManualStudy(), MagnitudesStudy()
FOLDS = (0.4, 0.5, 0.6)
"""Balanced accuracy without augmentation in three folds."""


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=6, n_windows=20)


def fraction_of(job: OperationJob) -> float:
    return job.fraction if isinstance(job, ManualJob) else 1.0


def made_up(
    study: AnyStudy, windows: WindowsType, gain: Callable[[Any], float], **changes: Any
) -> list[Record[Any, TrainingScores]]:
    """Make records in which each operation gains what a function says, in every fold."""
    config = make_config(study, "quick", {"n_folds": 3} | changes)
    records = []
    for job in study.jobs(config, windows):
        factor = 1 if job.operation == "none" else 1 + gain(job)
        score = FOLDS[job.fold] * factor
        result = TrainingScores(
            balanced_accuracy=score,
            macro_f1=score,
            f1_per_class={},
            valid_balanced_accuracy=score,
            valid_loss=1.0,
            best_epoch=1,
            n_epochs=1,
            n_train=round(100 * fraction_of(job)),
        )
        records.append(Record(job, result))
    return records


def rows_of(study: AnyStudy, records: list[Record[Any, TrainingScores]]) -> list[dict[str, Any]]:
    rows: Any = study.table(records).to_dict()["rows"]
    return list(rows)


@pytest.mark.parametrize("study", [MANUAL, MAGNITUDES], ids=["manual", "magnitudes"])
def test_a_job_trains_with_its_operation(study: AnyStudy, windows: Windows) -> None:
    """What the job gives is what `fit` and `evaluate` give with the same policy and windows."""
    config = make_config(study, "quick", {"max_epochs": 2})
    job = next(job for job in study.jobs(config, windows) if job.operation == "time_mask")
    result = study.run(config, windows, job)
    fold = make_fold(config, windows, job.fold, fraction=fraction_of(job))
    policy = PolicySpec.from_text(f"time_mask p=0.5 m={job.magnitude}")
    fitted = fit(
        fold.train,
        fold.valid,
        model="shallow",
        policy=policy,
        max_epochs=2,
        batch_size=32,
        seed=fold.seed,
    )
    assert result.valid_loss == fitted.history[fitted.best_epoch - 1].valid_loss
    assert result.balanced_accuracy == evaluate(fitted, fold.test).balanced_accuracy
    assert result.n_train == len(fold.train)


def test_manual_jobs(windows: Windows) -> None:
    config = make_config(MANUAL, "quick", {"n_fractions": 3})
    jobs = MANUAL.jobs(config, windows)
    assert len(jobs) == 2 * 3 * 3
    assert {job.fraction for job in jobs} == {0.25, 0.5, 1.0}
    assert {(job.operation, job.magnitude) for job in jobs} == {
        ("none", None),
        ("sign_flip", None),
        ("time_mask", 1.0),
    }
    sizes = [MANUAL.expected_seconds(config, windows, job) for job in jobs]
    assert min(sizes) > 0
    assert sizes[-1] > sizes[0]


def test_manual_magnitudes_may_be_given(windows: Windows) -> None:
    config = make_config(MANUAL, "quick", {"magnitudes": {"time_mask": 0.25}})
    jobs = MANUAL.jobs(config, windows)
    assert {job.magnitude for job in jobs if job.operation == "time_mask"} == {0.25}
    config = make_config(MANUAL, "quick", {"magnitudes": {"bandstop": 0.25}})
    with pytest.raises(ValueError, match="`magnitudes` must have one for time_mask"):
        MANUAL.jobs(config, windows)


def test_manual_table_has_the_gains_that_were_put_in(windows: Windows) -> None:
    records = made_up(MANUAL, windows, lambda job: 0.1 if "flip" in job.operation else 0)
    rows = rows_of(MANUAL, records)
    assert {row["windows"] for row in rows} == {50, 100}
    plain = [row["balanced accuracy"] for row in rows if row["operation"] == "none"]
    assert plain == [0.5, 0.5]
    for row in rows:
        if row["operation"] != "none":
            wanted = 10.0 if row["operation"] == "sign_flip" else 0.0
            found = [row["gain (%)"], row["from"], row["to"]]
            assert found == pytest.approx([wanted] * 3)
            assert row["balanced accuracy"] == pytest.approx(0.5 * (1 + wanted / 100))
            assert row["folds"] == 3


def test_manual_figure_has_the_gains_that_were_put_in(windows: Windows) -> None:
    records = made_up(MANUAL, windows, lambda job: job.fraction / 10)
    panels = MANUAL.figure(records).axes
    assert [axes.get_title() for axes in panels[:2]] == ["sign flip", "time mask"]
    line = panels[0].lines[-1]
    assert line.get_xdata().tolist() == [50, 100]
    assert line.get_ydata().tolist() == pytest.approx([0.05, 0.1])


@pytest.mark.parametrize("study", [MANUAL, MAGNITUDES], ids=["manual", "magnitudes"])
@pytest.mark.parametrize("n_folds", [1, 2, 3])
def test_intervals_need_three_folds(
    study: AnyStudy, windows: Windows, n_folds: int, tmp_path: Path
) -> None:
    records = made_up(study, windows, lambda job: 0.1 * job.fold, n_folds=n_folds)
    table, figure = study.table(records), study.figure(records)
    figure.savefig(tmp_path / "figure.png")
    rows = [row for row in table.to_dict()["rows"] if row["operation"] != "none"]
    caption = figure.get_supxlabel()
    bands = [
        path for axes in figure.axes for band in axes.collections for path in band.get_paths()
    ]
    assert all((row["from"] is None) == (row["to"] is None) == (n_folds < 3) for row in rows)
    assert ("interval" in table.note) == ("interval" in caption) == bool(bands) == (n_folds == 3)
    assert caption.endswith("grey: the other operations")


def test_magnitudes_jobs(windows: Windows) -> None:
    config = make_config(MAGNITUDES, "quick", {"operations": None, "n_folds": 1})
    jobs = MAGNITUDES.jobs(config, windows)
    assert len(jobs) == 1 + 7 * 2
    assert "sign_flip" not in {job.operation for job in jobs}
    assert {job.magnitude for job in jobs} == {None, 0.2, 0.8}
    config = make_config(MAGNITUDES, "quick", {"operations": "sign_flip"})
    with pytest.raises(ValueError, match="must have a magnitude, but sign_flip has none"):
        MAGNITUDES.jobs(config, windows)


def test_magnitudes_table_and_figure_have_the_gains_that_were_put_in(windows: Windows) -> None:
    records = made_up(MAGNITUDES, windows, lambda job: job.magnitude / 10)
    rows = rows_of(MAGNITUDES, records)
    assert [(row["operation"], row["that is"]) for row in rows[:2]] == [
        ("time_mask", "gap 0.2 s"),
        ("time_mask", "gap 0.8 s"),
    ]
    assert [row["gain (%)"] for row in rows] == pytest.approx([2, 8, 2, 8])
    line = MAGNITUDES.figure(records).axes[0].lines[-1]
    assert np.asarray(line.get_xdata()).tolist() == [0.2, 0.8]
    assert line.get_ydata().tolist() == pytest.approx([0.02, 0.08])


@pytest.mark.parametrize("study", [MANUAL, MAGNITUDES], ids=["manual", "magnitudes"])
def test_some_results_are_enough(study: AnyStudy, windows: Windows) -> None:
    """Whatever is done so far can be drawn; what has no baseline yet is left out."""
    records = made_up(study, windows, lambda job: 0.1)
    for n_done in range(1, len(records) + 1):
        study.table(records[:n_done])
        study.figure(records[:n_done])
    orphans = [record for record in records if record.job.operation != "none"]
    assert all(row.get("operation") != "time_mask" for row in rows_of(study, orphans))
