"""Other weights for a while, against torch's own way."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call

from cadda.searchers.gradient.substitution import substituted


class Shared(nn.Module):
    """Uses one layer under two names, and statistics that it shares with a part of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.norm = nn.BatchNorm1d(3)
        self.mean: torch.Tensor
        self.register_buffer("mean", self.norm.running_mean)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.second(torch.tanh(self.first(x)))) + self.mean


def test_the_result_is_that_of_functional_call() -> None:
    model, x = Shared(), torch.randn(8, 3)
    weights = {name: torch.randn_like(value) for name, value in model.named_parameters()}
    leaves = [value.requires_grad_() for value in weights.values()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with substituted(model, weights):
        made = model(x)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    buffers = {name: value.clone() for name, value in model.named_buffers()}
    expected = functional_call(model, weights | buffers, (x,))
    assert torch.equal(made, expected)
    for mine, theirs in zip(
        torch.autograd.grad(made.square().sum(), leaves),
        torch.autograd.grad(expected.square().sum(), leaves),
        strict=True,
    ):
        assert torch.equal(mine, theirs)


def test_weights_are_restored_after_an_error() -> None:
    model = nn.Linear(2, 2)
    own = model.weight
    other = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    with pytest.raises(RuntimeError, match="shapes"), substituted(model, other):
        model(torch.zeros(3, 5))
    assert model.weight is own
    assert isinstance(model.weight, nn.Parameter)
