"""One row of the catalogue makes an operation known to pools, studies, reports and commands."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
import torch
from torch import Generator, Tensor
from typer.testing import CliRunner

from cadda import Operation, PolicySpec, Windows, operation_pool
from cadda.cli.app import app
from cadda.experiments.registry import find_study
from cadda.experiments.study import make_config
from cadda.operations import CATALOGUE, uniform
from cadda.operations.catalogue import OperationInfo, Sensors, paper_operations
from cadda.policies.spec.summary import describe_subpolicy
from cadda.reporting.html.policy_view import view_policy
from cadda.testing import OperationContract


@dataclass(frozen=True)
class Drift(Operation):
    """Add a straight line from 0 to ±µ · ``max_drift``."""

    name = "drift"
    sfreq: float
    max_drift: float = 0.4

    def sample(self, x: Tensor, generator: Generator | None) -> dict[str, Tensor]:
        return {"share": 2 * uniform((len(x),), x, generator) - 1}

    def apply(self, x: Tensor, magnitude: Tensor, draw: dict[str, Tensor]) -> Tensor:
        line = torch.linspace(0, self.max_drift, x.shape[-1], dtype=x.dtype, device=x.device)
        return x + (magnitude * draw["share"])[:, None, None] * line


class TestDrift(OperationContract):
    def make_operation(self) -> Operation:
        return Drift(100.0)


def _two_channels(sensors: Sensors) -> str:
    return "" if len(sensors.ch_names) > 1 else "it needs 2 channels"


ROW = OperationInfo(
    operation=Drift,
    domain="time",
    summary="adds a straight line",
    references=("Rommel 2022",),
    in_paper=False,
    quantity="drift <",
    full=Drift.max_drift,
    unit="SD",
    study_magnitudes={"sleep": 0.7},
    make=lambda sensors: Drift(sensors.sfreq),
    unmet_need=_two_channels,
)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "drift", ROW)


@pytest.fixture(scope="module")
def windows() -> Windows:
    subject = [str(i % 12) for i in range(120)]
    return Windows(
        torch.randn(120, 2, 100), torch.arange(120) % 2, subject=subject, sfreq=100.0,
        ch_names=("Fpz-Cz", "Pz-Oz"), class_names=("W", "N2"),
    )  # fmt: skip


def test_pool(windows: Windows) -> None:
    pool = operation_pool(windows)
    assert pool["drift"] == Drift(100.0)
    assert operation_pool(sfreq=100, ch_names=["Cz"]).left_out["drift"] == "it needs 2 channels"


def test_it_is_not_one_of_the_paper(windows: Windows) -> None:
    names = paper_operations(operation_pool(windows).names)
    assert "time_mask" in names
    assert "drift" not in names


@pytest.mark.parametrize(("study", "magnitudes"), [("manual", {0.7}), ("magnitudes", {0.5, 1.0})])
def test_studies(study: str, magnitudes: set[float], windows: Windows) -> None:
    changes = {"operations": "none"} | ({"magnitudes": "0.5,1"} if study == "magnitudes" else {})
    found = find_study(study)
    jobs = found.jobs(make_config(found, "quick", changes), windows)
    assert {job.magnitude for job in jobs if job.operation == "drift"} == magnitudes


def test_report_and_policy_have_its_unit() -> None:
    spec = PolicySpec.from_text("drift p=1 m=0.5")
    assert describe_subpolicy(spec.policy["*"][0], "*") == [["100% drift, drift < 0.2 SD"]]
    view = view_policy(spec, None, ("a", "b"))
    assert view.heat[0].summary == "adds a straight line"
    assert view.cards[0].uses[0].amount == "drift < 0.2 SD"


def test_command_line() -> None:
    text = CliRunner().invoke(app, ["operations"]).stdout
    assert "drift < 0.4 SD" in text
    rows = json.loads(CliRunner().invoke(app, ["operations", "--json"]).stdout)
    assert "drift" in {row["name"] for row in rows}
