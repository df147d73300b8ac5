"""A new search method is one class in one file, and one line in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from commands import run

from cadda._internal.random import Seeds
from cadda._internal.validation import validated_dataclass
from cadda.data.windows import Windows
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import summarise
from cadda.searchers.events import SearchEpoch
from cadda.searchers.method import SearchMethod
from cadda.searchers.registry import METHODS
from cadda.searchers.retraining import AnyPolicy
from cadda.searchers.runner import SearchContext, SearchRunner
from cadda.testing import SearcherContract
from cadda.training import Problem
from cadda.training.checkpoint import State


@validated_dataclass
class ToySettings:
    seed: int = 0


class ToyRunner(SearchRunner):
    """Draws one operation per epoch and keeps the last; none of it is good."""

    def __init__(self, problem: Problem, settings: ToySettings, context: SearchContext) -> None:
        super().__init__(problem, context)
        self.seeds, self.classwise = Seeds(settings.seed), context.classwise
        self.operation = problem.pool.names[0]
        self.restore()

    def best_policy(self) -> AnyPolicy:
        return self._policy()

    def state_dict(self) -> State:
        return {"operation": self.operation}

    def load_state_dict(self, state: State) -> None:
        self.operation = state["operation"]

    def advance(self) -> SearchEpoch:
        self.epoch += 1
        names, stream = self.problem.pool.names, self.seeds.stream("toy", epoch=self.epoch)
        self.operation = names[int(torch.randint(len(names), (), generator=stream))]
        summary = summarise(self._policy())
        tables = {
            name: tuple(map(tuple, getattr(summary, name).tolist()))
            for name in ("applied", "share", "probability", "magnitude")
        }
        return SearchEpoch(
            epoch=self.epoch, n_epochs=self.n_epochs, train_loss=1.0, valid_loss=1.0,
            valid_balanced_accuracy=0.5, reward=0.0, entropy=1.0, seconds=0.0, warnings=(),
            **tables,
        )  # fmt: skip

    def _policy(self) -> PolicySpec:
        magnitude = " m=0.5" if self.problem.pool[self.operation].has_magnitude else ""
        line = f"{self.operation} p=0.5{magnitude}"
        rows = self.problem.class_names if self.classwise else ()
        spec = PolicySpec.from_text("\n".join(f"[{row}]\n{line}" for row in rows) or line)
        operations = {operation.name: operation.settings for operation in self.problem.pool}
        return spec.model_copy(update={"operations": operations})


@dataclass(frozen=True)
class ToyMethod(SearchMethod[ToySettings]):
    settings_class = ToySettings

    def make_runner(
        self, problem: Problem, settings: ToySettings, context: SearchContext
    ) -> SearchRunner:
        return ToyRunner(problem, settings, context)


class TestToyMethod(SearcherContract):
    method = "toy"

    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(METHODS, "toy", ToyMethod("draws operations at random"))


def test_command_line_resume_and_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "toy", ToyMethod("draws operations at random"))
    file, out = tmp_path / "windows.npz", tmp_path / "run"
    _recordings().save(file)
    options = ("--method", "toy", "--model", "shallow", "--budget", 2, "--max-epochs", 1)
    run("search", file, "--out", out, *options)
    run("search", file, "--out", out, *options, "--resume")
    run("report", out)
    assert "toy" in (out / "report.html").read_text(encoding="utf-8")


def _recordings() -> Windows:
    """Make windows of eight subjects with two classes of different amplitude."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(64) % 2
    x = torch.randn(64, 2, 300, generator=generator) * (1 + y)[:, None, None]
    return Windows(
        x,
        y,
        subject=[str(i // 8) for i in range(64)],
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["rest", "task"],
    )
