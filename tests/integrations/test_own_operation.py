"""A policy found with a user's own operation is saved, loaded, trained with and reported."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run as run_command
from snippets import run_snippet, snippet_of
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
    with pytest.raises(ValueError, match=r"the policy does not fit the windows: .*`gain`"):
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
    # The order does not matter, and own operations come last.
    assert pool.names == ("sign_flip", "time_mask", "gain")
    assert pool["gain"].settings == {"max_change": 0.2}
    # A class is instantiated, with the sampling rate of the windows if it has that.
    pool = cadda.operation_pool(windows, operations=[Delay, "paper", Gain])
    assert pool.names == (*paper_operations(every), "delay", "gain")
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


class Shorter(cadda.Operation):
    """Returns less than it gets."""

    name = "shorter"

    def apply(self, x: Tensor, magnitude: Tensor, draw: dict[str, Tensor]) -> Tensor:
        return x[:, :, :-1]


def test_an_operation_that_changes_the_shape(windows: cadda.Windows) -> None:
    pool = cadda.operation_pool(windows).with_operation(Shorter())
    spec = cadda.PolicySpec.from_text("shorter p=1 m=1", known=pool.names)
    message = r"`apply` of shorter must keep the shape, \(72, 2, 128\), got \(72, 2, 127\)"
    for use in (cadda.Policy(spec, pool), lambda x: pool["shorter"](x, 1.0)):
        with pytest.raises(ValueError, match=message):
            use(windows.x)
    with pytest.raises(ValueError, match="`apply` of shorter must keep the shape"):
        cadda.probe(windows, model="shallow", operations=[Shorter()], n_epochs=1)


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


@pytest.fixture
def own_folder(windows: cadda.Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with windows, a module with an operation, and a policy that has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "louder_operation", raising=False)
    (tmp_path / "louder_operation.py").write_text(MODULE)
    windows.save("data.npz")
    (tmp_path / "own.txt").write_text("louder p=1 m=1\n")
    return tmp_path


@pytest.mark.usefixtures("own_folder")
def test_command_line() -> None:
    """Search with the operation, train with the policy that was found, and what is wrong."""
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


def train_own(*options: str) -> None:
    quick = ("--model", "shallow", "--max-epochs", "1", "--out", "run")
    run_command("train", "data.npz", "--policy", "own.txt", *quick, *options)


def printed_score(code: str, folder: Path) -> float:
    """Run code in a process of its own, in a folder, and return the score that it prints."""
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(Path(cadda.__file__).parents[1])}
    command = [sys.executable, "-W", "ignore", "-c", code]
    made = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return float(made.stdout)


@pytest.mark.parametrize("place", ["louder_operation:Louder", "louder_operation:twice"])
def test_the_snippet_of_a_report_runs_from_any_folder(place: str, own_folder: Path) -> None:
    train_own("--operations", place)
    config = json.loads((own_folder / "run/config.json").read_text())
    recorded = {"name": "louder", "place": place, "folder": str(own_folder.resolve())}
    assert config["own_operations"] == [recorded]
    run_command("report", "run")
    code = snippet_of(own_folder / "run/report.html")
    assert f'operations=["all", "{place}"]' in code
    scores = json.loads((own_folder / "run/scores.json").read_text())
    for folder in (own_folder / "a", own_folder / "b"):
        assert printed_score(code, folder) == scores["balanced_accuracy"]
    # Without the folder of the module there is no operation.
    (line,) = [line for line in code.splitlines() if line.startswith("sys.path.insert")]
    with pytest.raises(subprocess.CalledProcessError):
        printed_score(code.replace(line, ""), own_folder / "a")


def test_the_snippet_of_a_search(own_folder: Path) -> None:
    names = ("--operations", "sign_flip,louder_operation:Louder")
    run_command(
        "search", "data.npz", "--model", "shallow", "--max-epochs", "1", "--method", "random",
        "--budget", "1", "--set", "n_stages=1", "--no-baseline", "--out", "run", *names,
    )  # fmt: skip
    code = snippet_of(own_folder / "run/report.html")
    assert 'operations=["all", "louder_operation:Louder"]' in code
    scores = json.loads((own_folder / "run/scores.json").read_text())
    assert printed_score(code, own_folder / "a") == scores["balanced_accuracy"]


def test_a_run_resumes_where_the_module_has_moved(own_folder: Path) -> None:
    train_own("--operations", "louder_operation:Louder")
    config = (own_folder / "run/config.json").read_text()
    other = config.replace(json.dumps(str(own_folder.resolve())), '"/elsewhere"')
    assert other != config
    (own_folder / "run/config.json").write_text(other)
    train_own("--operations", "louder_operation:Louder")


@pytest.mark.parametrize(
    "changes",
    [
        {"place": "os; import x:Louder"},
        {"place": "louder_operation"},
        {"place": 'a":Louder'},
        {"folder": "modules"},
        {"folder": "{run}"},
        {"folder": "{run}/modules"},
        {"folder": "/elsewhere/../{run}/modules"},
        {"name": "other"},
    ],
)
def test_the_snippet_names_what_it_cannot_import(
    changes: dict[str, str], own_folder: Path
) -> None:
    """A folder of a run that is shared has no code that the snippet would run."""
    train_own("--operations", "louder_operation:Louder")
    path = own_folder / "run/config.json"
    config = json.loads(path.read_text())
    run = str((own_folder / "run").resolve())
    config["own_operations"][0] |= {k: v.replace("{run}", run) for k, v in changes.items()}
    path.write_text(json.dumps(config))
    run_command("report", "run")
    code = snippet_of(own_folder / "run/report.html")
    assert 'own = ...  # your operations ["louder"]' in code
    assert "sys" not in code
    given = [importlib.import_module("louder_operation").Louder()]
    scores = json.loads((own_folder / "run/scores.json").read_text())
    score = run_snippet(code.replace("= ...", "= given"), {"given": given})
    assert score == scores["balanced_accuracy"]


@pytest.mark.usefixtures("own_folder")
def test_places_in_python(windows: cadda.Windows, parts: tuple[cadda.Windows, ...]) -> None:
    names = ["sign_flip", "louder_operation:Louder"]
    assert cadda.operation_pool(windows, operations=names).names == ("sign_flip", "louder")
    training = TrainingSettings(max_epochs=1)
    result = cadda.search(
        *parts[:2], operations=names, model="shallow", method="trivial", training=training
    )
    assert result.operations == ("sign_flip", "louder")
    with pytest.raises(ValueError, match="`operations` must be names or module:Class, got 'a:b'"):
        cadda.operation_pool(windows, operations=["a:b"])
    with pytest.raises(ValueError, match="`operations` must be names or module:Class, got 'a:b'"):
        cadda.search(*parts[:2], operations=["a:b", "sign_flip"])


@pytest.mark.parametrize("engine", ["serial", "processes:2"])
def test_compare(engine: str, own_folder: Path) -> None:
    """A method that chooses it, and a policy that has it, are trained with it by all workers."""
    options = (
        "data.npz", "--model", "shallow", "--max-epochs", "1", "--folds", "2", "--out", "run",
        "--methods", "none,trivial,own.txt", "--engine", engine,
    )  # fmt: skip
    refused = run_command("compare", *options, code=2).stderr
    assert "must be a known operation, got `louder`" in refused
    run_command("compare", *options, "--operations", "sign_flip,louder_operation:Louder")
    lines = (own_folder / "run/results.jsonl").read_text().splitlines()
    losses = {
        (line["job"]["method"], line["job"]["fold"]): line["result"]["valid_loss"]
        for line in map(json.loads, lines)
    }
    for fold in (0, 1):
        assert len({losses[name, fold] for name in ("none", "trivial", "own.txt")}) == 3


def test_a_policy_with_an_own_operation_is_shown(own_folder: Path) -> None:
    (own_folder / "own.txt").write_text("louder p=0.5 m=0.3")
    shown = run_command("policy", "show", "own.txt")
    assert "50% louder" in shown.stdout
    assert "if it is yours, name it with --operations module:Class" in shown.stderr
    named = run_command("policy", "show", "own.txt", "--operations", "louder_operation:Louder")
    assert (named.stdout, named.stderr) == (shown.stdout, "")
    (own_folder / "misspelt.txt").write_text("luoder p=0.5 m=0.3")
    options = ("misspelt.txt", "--operations", "louder_operation:Louder")
    assert "(did you mean `louder`?)" in run_command("policy", "show", *options).stderr
