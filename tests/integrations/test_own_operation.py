"""A policy found with a user's own operation is saved, loaded, trained with and reported."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run as run_command
from torch import Generator, Tensor

import cadda
from cadda.api.run import run_search
from cadda.exceptions import PolicyFileError
from cadda.operations import uniform
from cadda.operations.catalogue import paper_operations
from cadda.runs.report import write_report
from cadda.training.settings import TrainingSettings

QUICK = {"model": "shallow", "max_epochs": 2}


@dataclass(frozen=True)
class Gain(cadda.Operation):
    """Multiply each window by a factor drawn from 1 ± µ · ``max_change``."""

    name = "gain"
    max_change: float = 0.5

    def sample(self, x: Tensor, generator: Generator | None) -> dict[str, Tensor]:
        return {"share": 2 * uniform((len(x),), x, generator) - 1}

    def apply(self, x: Tensor, magnitude: Tensor, draw: dict[str, Tensor]) -> Tensor:
        factor = 1 + self.max_change * magnitude * draw["share"]
        return x * factor[:, None, None]


@pytest.fixture(scope="module")
def windows() -> cadda.Windows:
    rng = np.random.default_rng(0)
    return cadda.Windows(
        rng.normal(size=(72, 2, 128)), np.arange(72) % 2, subject=np.repeat(np.arange(6), 12),
        sfreq=64, ch_names=["C3", "C4"], class_names=["left", "right"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts(windows: cadda.Windows) -> tuple[cadda.Windows, ...]:
    return windows.split(valid=0.34, test=0.17)


@pytest.fixture(scope="module")
def pool(parts: tuple[cadda.Windows, ...]) -> cadda.OperationPool:
    return cadda.operation_pool(parts[0], operations=["sign_flip"]).with_operation(Gain())


@pytest.fixture(scope="module")
def folder(
    parts: tuple[cadda.Windows, ...],
    pool: cadda.OperationPool,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Search with the pool, into a run folder."""
    folder = tmp_path_factory.mktemp("search") / "run"
    train, valid, _ = parts
    result = cadda.search(
        train, valid, method="random", model="shallow", operations=pool, budget=2, n_stages=1,
        training=TrainingSettings(max_epochs=1), run_dir=folder, retrain=False, baseline=False,
    )  # fmt: skip
    assert result.policy.operation_names == ("sign_flip", "gain")
    result.policy.save(folder / "own.json")
    return folder


def test_from_search_to_training(
    folder: Path, parts: tuple[cadda.Windows, ...], pool: cadda.OperationPool
) -> None:
    train, valid, test = parts
    spec = cadda.PolicySpec.load(folder / "own.json", known=pool.names)
    assert spec.operations["gain"] == {"max_change": 0.5}
    fitted = [
        cadda.fit(train, valid, policy=policy, pool=pool, **QUICK)
        for policy in (spec, folder / "own.json")
    ]
    by_hand = cadda.fit(train, valid, policy=cadda.Policy(spec, pool), **QUICK)
    weights = [made.model.state_dict() for made in (*fitted, by_hand)]
    for name, value in weights[0].items():
        assert torch.equal(value, weights[1][name])
        assert torch.equal(value, weights[2][name])
    assert 0 <= cadda.evaluate(fitted[0], test).balanced_accuracy <= 1


def test_the_operation_is_applied(
    parts: tuple[cadda.Windows, ...], pool: cadda.OperationPool
) -> None:
    train, valid, _ = parts
    spec = cadda.PolicySpec.from_text("gain p=1 m=1", known=pool.names)
    plain, augmented = (
        cadda.fit(train, valid, policy=policy, pool=own, **QUICK).history
        for policy, own in ((None, None), (spec, pool))
    )
    assert plain[-1].train_loss != augmented[-1].train_loss


def test_without_the_pool_the_way_out_is_named(
    folder: Path, parts: tuple[cadda.Windows, ...], pool: cadda.OperationPool
) -> None:
    train, valid, _ = parts
    with pytest.raises(PolicyFileError, match=r"known operation, got `gain`.*`known`"):
        cadda.PolicySpec.load(folder / "own.json")
    spec = cadda.PolicySpec.from_text("gain p=1 m=1", known=pool.names)
    with pytest.raises(ValueError, match=r"`pool` does not fit the policy: .*`gain`"):
        cadda.fit(train, valid, policy=spec, **QUICK)


def test_settings_of_the_policy_apply(pool: cadda.OperationPool) -> None:
    spec = cadda.PolicySpec.from_text("gain p=1 m=1", known=pool.names)
    other = spec.model_copy(update={"operations": {"gain": {"max_change": 0.1}}})
    x, y = torch.ones(400, 2, 128), torch.zeros(400, dtype=torch.long)
    changes = [
        (cadda.Policy(each, pool)(x, y, generator=torch.Generator().manual_seed(0))[0] - 1).abs()
        for each in (spec, other)
    ]
    # Of 400 draws, the largest is above nine tenths of the limit, or else with p < 1e-18.
    for change, limit in zip(changes, (0.5, 0.1), strict=True):
        assert 0.9 * limit < change.max() <= limit


def test_report(windows: cadda.Windows, pool: cadda.OperationPool, tmp_path: Path) -> None:
    """The report of a search with test subjects shows the operation and its magnitude."""
    run_search(
        windows, tmp_path / "run", method="random", model="shallow", n_stages=1,
        operations=pool, budget=1, device="cpu",
        training=TrainingSettings(max_epochs=1),
    )  # fmt: skip
    write_report(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "gain" in page
    assert "magnitude 0." in page or "magnitude 1." in page


@dataclass(frozen=True)
class Delay(cadda.Operation):
    """Shift windows by µ seconds."""

    sfreq: float
    name = "delay"

    def apply(self, x: Tensor, magnitude: Tensor, draw: dict[str, Tensor]) -> Tensor:
        return x.roll(round(self.sfreq * float(magnitude[0])), -1)


def test_objects_among_names(windows: cadda.Windows) -> None:
    every = cadda.operation_pool(windows).names
    pool = cadda.operation_pool(windows, operations=["sign_flip", Gain(0.2), "time_mask"])
    assert pool.names == ("sign_flip", "gain", "time_mask")
    assert pool["gain"].settings == {"max_change": 0.2}
    # A class is instantiated, with the sampling rate of the windows if it has that.
    pool = cadda.operation_pool(windows, operations=[Delay, "paper", Gain])
    assert pool.names == ("delay", *paper_operations(every), "gain")
    assert vars(pool["delay"]) == {"sfreq": 64}
    assert cadda.operation_pool(windows, operations=["default", Gain()]).names == (*every, "gain")
    largest = cadda.operation_pool(windows).with_extra().names
    assert cadda.operation_pool(windows, operations=["all", Gain()]).names == (*largest, "gain")


@pytest.mark.parametrize(
    ("operations", "error", "match"),
    [
        (["sign_flip", int], TypeError, "derived from cadda.Operation, got int"),
        (["sign_flip", 3], TypeError, "derived from cadda.Operation, got int"),
        (["gian"], ValueError, "`operations`: unknown operation `gian`"),
        ("gain", TypeError, "must be a list of names, got the text 'gain'"),
    ],
)
def test_wrong_operations(
    parts: tuple[cadda.Windows, ...], operations: object, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        cadda.search(*parts[:2], operations=operations, method="random", **{"model": "shallow"})


def test_a_class_that_needs_arguments(windows: cadda.Windows) -> None:
    class Needy(Gain):
        def __init__(self, factor: float) -> None: ...

    with pytest.raises(TypeError, match=r"Needy cannot be made .*'factor'.*pass an instance"):
        cadda.operation_pool(windows, operations=[Needy])


MODULE = """
from dataclasses import dataclass
import cadda

@dataclass(frozen=True)
class Louder(cadda.Operation):
    name = "louder"
    most: float = 2.0

    def apply(self, x, magnitude, draw):
        return x * (1 + (self.most - 1) * magnitude)[:, None, None]

twice = Louder()
broken = 3
"""


def test_command_line(
    windows: cadda.Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Search with the operation, train with the policy that was found, and what is wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "louder_operation.py").write_text(MODULE)
    windows.save("data.npz")
    (tmp_path / "own.txt").write_text("louder p=1 m=1\n")
    quick = ["data.npz", "--model", "shallow", "--max-epochs", "1"]
    own = "louder_operation:Louder"
    run_command(
        "search", *quick, "--operations", f"sign_flip, {own}", "--method", "random", "--budget",
        "1", "--set", "n_stages=1", "--no-baseline", "--out", "run",
    )  # fmt: skip
    spec = cadda.PolicySpec.load("run/policy.json", known=["louder"])
    assert spec.operations == {"sign_flip": {}, "louder": {"most": 2.0}}
    run_command("train", *quick, "--policy", "run/policy.json", "--operations", own, "--out", "a")
    run_command(
        "train", *quick, "--policy", "own.txt", "--operations", "louder_operation:twice",
        "--out", "b",
    )  # fmt: skip
    unknown = run_command("train", *quick, "--policy", "own.txt", "--out", "c", code=2)
    assert "must be a known operation, got `louder`" in unknown.stderr
    assert "`--operations`" in unknown.stderr
    for place, reason in (
        ("louder_operation:Luoder", "has no attribute 'Luoder'"),
        ("no_such_module:Louder", "No module named 'no_such_module'"),
    ):
        refused = run_command("probe", "data.npz", "--operations", place, "--out", "d", code=2)
        assert f"`--operations` must be names or module:Class, got {place!r}" in refused.stderr
        assert reason in refused.stderr
    wrong = ["--operations", "sign_flip,louder_operation:broken", "--out", "d"]
    assert "got int" in run_command("probe", "data.npz", *wrong, code=2).stderr


@pytest.mark.parametrize("engine", ["serial", "processes:2"])
def test_compare(
    engine: str, windows: cadda.Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that chooses it, and a policy that has it, are trained with it by all workers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "louder_operation.py").write_text(MODULE)
    windows.save("data.npz")
    (tmp_path / "own.txt").write_text("louder p=1 m=1\n")
    options = (
        "data.npz", "--model", "shallow", "--max-epochs", "1", "--folds", "2", "--out", "run",
        "--methods", "none,trivial,own.txt", "--engine", engine,
    )  # fmt: skip
    refused = run_command("compare", *options, code=2).stderr
    assert "must be a known operation, got `louder`" in refused
    run_command("compare", *options, "--operations", "sign_flip,louder_operation:Louder")
    lines = (tmp_path / "run/results.jsonl").read_text().splitlines()
    losses = {
        (line["job"]["method"], line["job"]["fold"]): line["result"]["valid_loss"]
        for line in map(json.loads, lines)
    }
    for fold in (0, 1):
        assert len({losses[name, fold] for name in ("none", "trivial", "own.txt")}) == 3
