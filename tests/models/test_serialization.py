"""Models on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from cadda.exceptions import ModelError
from cadda.models.registry import make_model
from cadda.models.serialization import ModelDescription, load_model, save_model

DESCRIPTION = ModelDescription("chambon2018", 2, 512, 100.0, ("C3", "C4"), ("W", "N1", "N2"))


@pytest.fixture
def model() -> nn.Module:
    return make_model("chambon2018", n_channels=2, n_times=512, n_classes=3, sfreq=100.0, seed=0)


def test_round_trip(model: nn.Module, tmp_path: Path) -> None:
    save_model(model, DESCRIPTION, tmp_path / "model.safetensors")
    again, description = load_model(tmp_path / "model.safetensors")
    assert description == DESCRIPTION
    x = torch.randn(4, 2, 512)
    assert torch.equal(again(x), model.eval()(x))
    assert not again.training
    save_model(again, DESCRIPTION, tmp_path / "again.safetensors")
    first, second = (tmp_path / f"{name}.safetensors" for name in ("model", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_own_module(tmp_path: Path) -> None:
    own = nn.Linear(3, 2)
    description = ModelDescription("custom", 1, 3, 1.0, ("a",), ("x", "y"))
    save_model(own, description, tmp_path / "own.safetensors")
    with pytest.raises(ModelError, match="'custom' model, which cadda cannot make; pass an"):
        load_model(tmp_path / "own.safetensors")
    for given in (nn.Linear(3, 2), lambda n_channels, n_times, n_classes: nn.Linear(3, n_classes)):
        again, _ = load_model(tmp_path / "own.safetensors", given)
        assert torch.equal(again.weight, own.weight)
        assert not again.training
    with pytest.raises(TypeError, match=r"`model` must be a function of \(n_channels.*other arg"):
        load_model(tmp_path / "own.safetensors", lambda: nn.Linear(3, 2))
    with pytest.raises(TypeError, match=r"`model` must be a module or a function of .*got 'shall"):
        load_model(tmp_path / "own.safetensors", "shallow")
    with pytest.raises(ModelError, match="does not fit the model: size mismatch for weight"):
        load_model(tmp_path / "own.safetensors", nn.Linear(4, 2))


def test_bad_files(model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(ModelError, match="there is no such file"):
        load_model(path)
    save_model(model, DESCRIPTION, path)
    with pytest.raises(ModelError, match=r"a folder, not a file; the model .*model\.safetensors"):
        load_model(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="not a complete safetensors file"):
        load_model(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(ModelError, match="not those of a model that cadda saved"):
        load_model(path)
    save_file({"a": torch.zeros(1)}, path, {"cadda-model": "{}"})
    with pytest.raises(ModelError, match="a description that cannot be read: `model` is missing"):
        load_model(path)
