"""Fitting the identity: the relaxations get there, the straight-through estimator does not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cadda import Windows, simulate_sleep
from cadda.experiments.studies.identity_fit import (
    IdentityFitConfig,
    IdentityFitJob,
    IdentityFitStudy,
)
from cadda.experiments.study import Record

STUDY = IdentityFitStudy()
CONFIG = IdentityFitConfig(n_steps=100, lrs=(0.1,))


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=2, n_windows=10)


def job(operation: str, gradient: Any, fitted: Any) -> IdentityFitJob:
    return IdentityFitJob(operation=operation, gradient=gradient, fitted=fitted, lr=0.1)


def test_jobs(windows: Windows) -> None:
    jobs = STUDY.jobs(IdentityFitConfig(lrs=(0.1, 0.2)), windows)
    ways = {(job.operation, job.gradient, job.fitted) for job in jobs}
    assert len(jobs) == 2 * len(ways) == 2 * (2 + 7 * 4)
    assert {way for way in ways if way[0] == "sign_flip"} == {
        ("sign_flip", "relaxation", "probability")
    }
    assert ("time_mask", "straight-through", "magnitude") in ways


def test_a_magnitude_falls_to_zero_with_its_relaxation_only(windows: Windows) -> None:
    relaxed = STUDY.run(CONFIG, windows, job("gaussian_noise", "relaxation", "magnitude"))
    other = STUDY.run(CONFIG, windows, job("gaussian_noise", "straight-through", "magnitude"))
    assert relaxed.magnitude < 0.06
    assert relaxed.loss < relaxed.first_loss / 10
    assert other.magnitude > 0.15


def test_what_is_not_fitted_stays(windows: Windows) -> None:
    config = IdentityFitConfig(n_steps=5, start=0.4)
    result = STUDY.run(config, windows, job("time_mask", "relaxation", "magnitude"))
    assert set(result.path_probability) == {0.4}
    assert result.magnitude < 0.4
    result = STUDY.run(config, windows, job("time_mask", "relaxation", "both"))
    assert result.probability != pytest.approx(0.4, abs=1e-4)
    result = STUDY.run(config, windows, job("sign_flip", "relaxation", "probability"))
    assert result.probability < 0.4
    assert set(result.path_magnitude) == {0.4}


def test_the_first_step_follows_the_estimators(windows: Windows) -> None:
    """Adam's first step is the learning rate against the sign of the gradient."""
    config = IdentityFitConfig(n_steps=1, batch_size=8)
    step = torch.sigmoid(torch.tensor(-0.1)).item()
    result = STUDY.run(config, windows, job("gaussian_noise", "relaxation", "magnitude"))
    assert result.magnitude == pytest.approx(step, abs=1e-4)
    assert result.steps == (1,)


def test_table_and_figure(windows: Windows) -> None:
    names = ("sign_flip", "gaussian_noise")
    config = IdentityFitConfig(n_steps=3, lrs=(0.1, 0.2), operations=names)
    records = []
    for job in STUDY.jobs(config, windows):
        result = STUDY.run(config, windows, job)
        if job.fitted == "magnitude" and job.gradient == "relaxation":
            result = result.model_copy(update={"magnitude": job.lr / 3})
        records.append(Record(job, result))
    rows = {
        (row["operation"], row["fitted"], row["gradient"]): row
        for row in STUDY.table(records).to_dict()["rows"]
    }
    assert len(rows) == 5
    row = rows["gaussian_noise", "µ", "relaxation"]
    assert (row["reached"], row["of"]) == (1, 2)
    assert row["µ at most"] == pytest.approx(0.2 / 3)
    assert row["p at most"] is None
    figure = STUDY.figure(records)
    panels = figure.axes[:2]
    assert [axes.get_title() for axes in panels] == ["sign flip: p", "gaussian noise: µ, p fixed"]
    assert [len(axes.lines) for axes in panels] == [2, 4]
    assert panels[1].lines[0].get_ydata().tolist() == list(records[2].result.path_magnitude)
    assert len({line.get_color() for line in panels[1].lines}) == 4
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[-2:] == ["learning rate 0.1", "learning rate 0.2"]
