"""`cadda.compare`: the command in Python, with the same results."""

from __future__ import annotations

import html
import importlib
import json
from pathlib import Path

import commands
import pytest
import torch
from torch import Tensor

import cadda
from cadda.experiments.objects import name_operations
from cadda.experiments.registry import find_study
from cadda.experiments.study import make_config, read_toml
from cadda.operations.space import SignFlip
from cadda.operations.time import TimeMask

QUICK = {"n_folds": 2, "model": "shallow"}
TRAINING = cadda.TrainingSettings(max_epochs=1)


@pytest.fixture(scope="module")
def windows() -> cadda.Windows:
    return cadda.simulate_motor_imagery(n_subjects=6, n_windows=8, seed=0)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "noise.txt"
    path.write_text("gaussian_noise p=1 m=1")
    return path


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared") / "out"


@pytest.fixture(scope="module")
def result(windows: cadda.Windows, policy: Path, out: Path) -> cadda.StudyResult:
    return cadda.compare(windows, methods=[policy], training=TRAINING, out=out, **QUICK)


def test_results_are_those_of_the_command(
    result: cadda.StudyResult, windows: cadda.Windows, policy: Path, out: Path, tmp_path: Path
) -> None:
    """Byte by byte, so that the command finds nothing to do in the folder."""
    windows.save(tmp_path / "fists.npz")
    before = (out / "results.jsonl").read_bytes()
    done = commands.run(
        *("compare", tmp_path / "fists.npz", "--methods", policy, "--folds", "2"),
        *("--model", "shallow", "--max-epochs", "1", "--out", out, "--json"),
    )
    content = json.loads(done.stdout)
    assert content["n_done"] == len(result.records) == 4
    assert content["table"] == result.table.to_dict()
    assert content["warnings"] == list(result.warnings)
    assert (out / "results.jsonl").read_bytes() == before


def test_the_result_in_a_notebook(result: cadda.StudyResult, policy: Path) -> None:
    page = html.unescape(result._repr_html_())
    assert "Balanced accuracy on held-out subjects" in page
    assert "<details><summary>Balanced accuracy of each subject</summary>" in page
    assert result.table.note in page
    assert result.table.legend in page
    assert "From, to:" in result.table.legend
    assert result.table.legend not in repr(result)
    report = html.unescape(result.report.read_text("utf-8"))
    lead = report[report.index('<p class="lead">') :].partition("</p>")[0]
    assert "From, to:" not in lead
    assert f'<p class="note">{result.table.legend}</p>' in report
    assert all(f"<p>{text}.</p>" in page for text in result.warnings)
    assert repr(result).startswith("StudyResult: compare; ")
    assert len(result.plot().axes) == 2
    frame = result.to_frame()
    assert list(frame.columns) == list(result.table.columns)
    assert list(frame["method"]) == ["none", str(policy)]
    assert frame["accuracy"].between(frame["from"], frame["to"]).all()
    assert len(result.details[0].to_frame()) == 6


def test_validation_subjects(windows: cadda.Windows, tmp_path: Path) -> None:
    """A fraction of all subjects, at most half of those outside of the fold."""
    sizes = []
    for number, valid in enumerate((0.2, 0.4)):
        compared = cadda.compare(
            *(windows,),
            methods=["none"],
            n_folds=3,
            model="shallow",
            valid=valid,
            training=TRAINING,
            out=tmp_path / str(number),
        )
        sizes.append({record.result.n_train for record in compared.records})
    # Of four subjects outside of the fold, one and two validate; a subject has eight windows.
    assert sizes == [{24}, {16}]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"methods": "none,auto"}, TypeError, "`methods` must be a list of names"),
        ({"methods": ["adad"]}, ValueError, "got 'adad' .did you mean"),
        ({"training": cadda.TrainingSettings(betas=(0.0, 0.9))}, ValueError, "`betas` cannot"),
        ({"device": "cuda"}, ValueError, "`device` 'cuda' is not available here"),
        ({"device": "gpu"}, ValueError, "device"),
        ({"valid": 1.0}, ValueError, "valid"),
    ],
)
def test_wrong_arguments(
    arguments: dict[str, object],
    error: type[Exception],
    message: str,
    windows: cadda.Windows,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        cadda.compare(windows, **{"out": tmp_path / "out", **QUICK, **arguments})
    assert not (tmp_path / "out").exists()


def test_policies_as_objects(
    result: cadda.StudyResult, windows: cadda.Windows, policy: Path, tmp_path: Path
) -> None:
    """Scores are those of the file, and the same call finds them."""
    spec = cadda.PolicySpec.load(policy)
    arguments = {"methods": [spec], "training": TRAINING, "out": tmp_path / "out", **QUICK}
    compared = cadda.compare(windows, **arguments)
    (saved,) = (tmp_path / "out").glob("policy-*.json")
    assert cadda.PolicySpec.load(saved) == spec
    assert [r.result.correct for r in compared.records] == [
        r.result.correct for r in result.records
    ]
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    cadda.compare(windows, **arguments)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


def test_operations_as_objects() -> None:
    found = name_operations(["default", SignFlip, SignFlip(), TimeMask(100.0)])
    flip = "cadda.operations.space:SignFlip"
    assert found == ["default", flip, flip, "cadda.operations.time:TimeMask"]
    assert name_operations(None) is None


class Local:
    """Made by a function, so that nothing can import what is in it."""

    @staticmethod
    def make() -> cadda.Operation:
        class Gain(cadda.Operation):
            name = "gain"

            def apply(self, x: Tensor, magnitude: Tensor, draw: object) -> Tensor:
                return x

        return Gain()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"operations": [Local.make()]}, TypeError, r"can import, got .*Gain.*'module:Class'"),
        (
            {"operations": [TimeMask(100.0, max_length=3.0)]},
            ValueError,
            "default settings, got .*`operation_settings`",
        ),
        (
            {"model": lambda *_: None},
            TypeError,
            "`model` of a comparison.* must be a name such as.*lambda.*put the function into",
        ),
        ({"methods": ["none", 3]}, TypeError, "`methods` must be names of methods.*got 3"),
        (
            {"training": cadda.TrainingSettings(optimizer=lambda p: torch.optim.SGD(p))},
            TypeError,
            "`optimizer` of a comparison.* must be one of adam.*lambda.*`cadda.fit`",
        ),
        ({"model": torch.nn.Linear(2, 2)}, TypeError, "can import, got Linear.*`cadda.fit`"),
        (
            {"model": "no_such_module:net"},
            ValueError,
            "`model` must be a name or module:function, got 'no_such_module:net', which cannot",
        ),
    ],
)
def test_objects_that_a_comparison_cannot_keep(
    windows: cadda.Windows, tmp_path: Path, arguments: dict, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        cadda.compare(windows, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


OWN = """
import torch
from torch import nn


def make_net(n_channels, n_times, n_classes):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(n_classes))


def make_optimizer(parameters):
    return torch.optim.RMSprop(parameters, lr=1e-4)
"""


@pytest.mark.parametrize("engine", ["serial", "processes:2"])
def test_model_and_optimizer_of_a_module(
    windows: cadda.Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Functions, or their places, give the same results, which a fit by hand has too."""
    name = f"own_parts_{engine[:4]}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module(name)
    training = cadda.TrainingSettings(max_epochs=2, optimizer=own.make_optimizer)
    arguments = {"methods": ["none"], "n_folds": 2, "out": "out", "engine": engine}
    compared = cadda.compare(windows, model=own.make_net, training=training, **arguments)
    before = Path("out/results.jsonl").read_bytes()
    cadda.compare(windows, model=f"{name}:make_net", training=training, **arguments)
    assert Path("out/results.jsonl").read_bytes() == before
    assert f'model = "{name}:make_net"' in Path("out/config.toml").read_text()
    study = find_study("compare")
    config = make_config(study, "cpu", read_toml(Path("out/config.toml")))
    record = compared.records[0]
    fold = study.fold(config, windows, record.job)
    fitted = cadda.fit(
        *(fold.train, fold.valid),
        model=own.make_net,
        optimizer=own.make_optimizer,
        max_epochs=2,
        seed=fold.seed,
    )
    expected = cadda.evaluate(fitted, fold.test).balanced_accuracy
    assert record.result.balanced_accuracy == pytest.approx(expected)
