"""Models of others: one sentence that names the model's output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_commands import tiny_windows
from torch import Tensor, nn

from cadda import ModelError, evaluate, fit, search


class Other(nn.Module):
    """A linear model, whose output something is done to."""

    def __init__(self, change: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.change = nn.Linear(200, 2), change

    def forward(self, x: Tensor) -> Any:
        return self.change(self.linear(x.flatten(1)))


def _raise(logits: Tensor) -> Tensor:
    raise KeyError("weights\nof another")


CHANGES: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "none": (lambda x: None, "must be a tensor of logits, got NoneType"),
    "tuple": (lambda x: (x, x), "must be a tensor of logits, got tuple"),
    "half": (lambda x: x.half(), r"logits of type torch\.float32, got torch\.float16; pass model"),
    "double": (lambda x: x.double(), r"of type torch\.float32, got torch\.float64; pass model"),
    "labels": (lambda x: x.long(), r"got torch\.int64; return no labels"),
    "device": (lambda x: x.to("meta"), "on the device of its input, cpu, got meta"),
    "one axis": (lambda x: x[:, 0], r"logits of shape \(2, 2\) for 2 windows and 2 classes, got"),
    "more classes": (lambda x: torch.cat([x, x], 1), r"got \(2, 4\)"),
    "raises": (_raise, r"gave no output for windows of shape .*: KeyError, 'weights"),
}


@pytest.mark.parametrize("name", [*CHANGES, "detached"])
def test_output(name: str, tmp_path: Path) -> None:
    change, message = CHANGES.get(name, (Tensor.detach, "does not depend on its weights"))
    train, valid, test = tiny_windows().split(seed=0)
    model = Other(change)
    with pytest.raises(ModelError, match=message) as caught:
        fit(train, valid, model=model, max_epochs=1, progress=False, device="cpu")
    assert "the model" in str(caught.value)
    assert str(caught.value).isprintable()
    with pytest.raises(ModelError, match="the model"):
        search(
            train,
            valid,
            model=model,
            method="adda",
            budget=1,
            run_dir=tmp_path / "run",
            progress=False,
            device="cpu",
        )
    assert not (tmp_path / "run").exists()
    if name != "detached":
        with pytest.raises(ModelError, match="the model"):
            evaluate(model, test)


@pytest.mark.parametrize("kind", [torch.float16, torch.float64])
def test_precision(kind: torch.dtype) -> None:
    train, valid, test = tiny_windows().split(seed=0)
    model = Other(lambda x: x).to(kind)
    message = rf"gave no output .* its weights are {kind}, so pass model\.float\(\)"
    with pytest.raises(ModelError, match=message):
        fit(train, valid, model=model, max_epochs=1, progress=False, device="cpu")
    with pytest.raises(ModelError, match=message):
        evaluate(model, test)


def test_healthy_models_are_trained() -> None:
    train, valid, test = tiny_windows().split(seed=0)
    fitted = fit(train, valid, model=Other(lambda x: x), max_epochs=1, progress=False)
    assert evaluate(fitted, test).balanced_accuracy >= 0
