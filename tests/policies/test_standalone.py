"""Policies as torch code: it needs no cadda, and does the same to the last bit."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from commands import run

from cadda import OperationPool, Policy, PolicySpec, image_pool, operation_pool
from cadda.operations import CATALOGUE
from cadda.policies.standalone import to_torch

CHANNELS = ["F3", "F4", "C3", "C4", "O1", "unknown"]
ALLOWED = {
    "__future__",
    "abc",
    "collections",
    "dataclasses",
    "functools",
    "math",
    "numpy",
}


@pytest.fixture(scope="module")
def pool() -> OperationPool:
    return operation_pool(sfreq=100, ch_names=CHANNELS, class_names=("a", "b", "c"))


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    def load(code: str) -> ModuleType:
        """Import the code from a file, if it imports nothing but torch and what comes with it."""
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [
                    alias.name for alias in node.names
                ]  # fmt: skip
                tops = {str(name).partition(".")[0] for name in names}
                assert tops <= ALLOWED | {"torch", "typing"}
        file = tmp_path / "augment.py"
        file.write_text(code, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("exported_policy", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # As the import statement does; dataclasses look their module up.
        monkeypatch.setitem(sys.modules, "exported_policy", module)
        spec.loader.exec_module(module)
        return module

    return load


def check_same(policy: Policy, module: ModuleType, x: torch.Tensor, y: torch.Tensor) -> None:
    ours, theirs = (
        augment(x, y, generator=torch.Generator().manual_seed(5))
        for augment in (policy, module.augment)
    )
    assert torch.equal(ours[0], theirs[0])
    assert torch.equal(ours[1], theirs[1])
    assert not torch.equal(ours[0], x)


@pytest.mark.parametrize(
    "name", [name for name, row in CATALOGUE.items() if row.domain != "image"]
)
def test_each_operation(name: str, pool: OperationPool, load: Callable[[str], ModuleType]) -> None:
    text = f"{name} p=0.7" + (" m=0.6" if CATALOGUE[name].has_magnitude else "")
    spec = PolicySpec.from_text(text)
    module = load(to_torch(spec, pool))
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(40, 6, 151, generator=torch.Generator().manual_seed(0), dtype=dtype)
        check_same(Policy(spec, pool), module, x, torch.zeros(40, dtype=torch.long))


def test_operations_beside_the_default_ones(
    pool: OperationPool, load: Callable[[str], ModuleType]
) -> None:
    spec = PolicySpec.from_text(
        "time_warp p=0.5 m=0.5 | sign_flip p=0.9 > segment_recombination p=0.5 m=1\n"
        "amplitude_scale p=0.8 m=1 > time_mask p=0.5 m=1"
    )
    module, x, y = load(to_torch(spec, pool)), torch.randn(60, 6, 100), torch.arange(60) % 3
    check_same(Policy(spec, pool), module, x, y)


CLASSWISE = """
[a]
w=3: time_mask p=0.5 m=0.2..0.8 | sign_flip p=0.4 w=2 > gaussian_noise p=1 m=0.3
channel_symmetry p=0.7 -> {a: b, b: a} > rotation_z p=0.5 m=1
[b]
channel_symmetry p=0.9 -> {a: b, b: a}
[c]
none
"""


def test_a_policy_with_everything(pool: OperationPool, load: Callable[[str], ModuleType]) -> None:
    spec = PolicySpec.from_text(CLASSWISE)
    code = to_torch(spec, pool)
    assert code.count("# none") == 1
    module = load(code)
    assert module.CLASS_NAMES == ["a", "b", "c"]
    x, y = torch.randn(300, 6, 100), torch.arange(300) % 3
    check_same(Policy(spec, pool), module, x, y)
    result, labels = module.augment(x, y)
    assert torch.equal(result[y == 2], x[y == 2])
    assert (labels[y == 1] == 0).float().mean() == pytest.approx(0.9, abs=0.12)
    with pytest.raises(ValueError, match="`y` is missing"):
        module.augment(x)


def test_pasted_into_other_code(pool: OperationPool) -> None:
    """Not as a module of its own, in which dataclasses would find their annotations."""
    spec, names = PolicySpec.from_text("rotation_x p=1 m=1"), {}
    exec(to_torch(spec, pool), names)  # noqa: S102
    x = torch.randn(4, 6, 10)
    ours, theirs = (
        augment(x, generator=torch.Generator().manual_seed(1))[0]
        for augment in (Policy(spec, pool), names["augment"])
    )
    assert torch.equal(ours, theirs)


def test_classes_are_those_of_the_windows(
    pool: OperationPool, load: Callable[[str], ModuleType]
) -> None:
    spec, other = PolicySpec.from_text(CLASSWISE), pool.for_classes(("c", "b", "a"))
    module = load(to_torch(spec, other))
    assert module.CLASS_NAMES == ["c", "b", "a"]
    check_same(Policy(spec, other), module, torch.randn(90, 6, 60), torch.arange(90) % 3)


def test_images_and_no_augmentation(
    pool: OperationPool, load: Callable[[str], ModuleType]
) -> None:
    x, y = torch.randn(20, 1, 8, 8), torch.zeros(20, dtype=torch.long)
    spec = PolicySpec.from_text("rotation_90 p=0.5 > horizontal_flip p=0.5")
    check_same(Policy(spec, image_pool()), load(to_torch(spec, image_pool())), x, y)
    x = torch.randn(20, 6, 8)
    assert torch.equal(load(to_torch(PolicySpec.none(), pool)).augment(x)[0], x)


def test_own_operations_have_no_code(pool: OperationPool) -> None:
    class Twice(type(pool["sign_flip"])):  # type: ignore[misc]
        name = "twice"

    spec = PolicySpec.from_text("twice p=1", known=["twice"])
    with pytest.raises(ValueError, match="operations of cadda only, whose code is known, got 'tw"):
        to_torch(spec, pool.with_operation(Twice()))


def test_command_line(tmp_path: Path, load: Callable[[str], ModuleType]) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("time_mask p=0.5 m=0.4 > channel_symmetry p=0.5\n")
    arguments = ["policy", "export", file, "--format", "torch"]
    assert "pass it in Hz as `--sfreq`" in run(*arguments, code=2).stderr
    unnamed = run(*arguments, "--sfreq", "100", code=2).stderr
    assert "pass names such as C3 as `--channels`" in unnamed
    code = run(*arguments, "--sfreq", "100", "--channels", "C3,C4").stdout
    two = operation_pool(sfreq=100, ch_names=["C3", "C4"])
    x, y = torch.randn(30, 2, 200), torch.zeros(30, dtype=torch.long)
    check_same(Policy(PolicySpec.load(file), two), load(code), x, y)
    file.write_text("sign_flip p=0.5 -> {left: right, right: left}\n")
    assert "class_names" in run(*arguments, code=2).stderr
    module = load(run(*arguments, "--classes", "right,left").stdout)
    assert module.CLASS_NAMES == ["right", "left"]
