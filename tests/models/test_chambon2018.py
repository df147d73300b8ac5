"""The sleep CNN against the table of the paper."""

from __future__ import annotations

import pytest
import torch

from cadda.models.networks import Chambon2018


@pytest.mark.parametrize(("n_channels", "n_times", "features"), [(2, 3000, 176), (6, 3840, 720)])
def test_parameters_and_shapes(n_channels: int, n_times: int, features: int) -> None:
    model = Chambon2018(n_channels, n_times, 5)
    convolutions = n_channels**2 + (8 * 64 + 8) + (8 * 8 * 64 + 8)
    assert sum(p.numel() for p in model.parameters()) == convolutions + 5 * features + 5
    assert model(torch.zeros(3, n_channels, n_times)).shape == (3, 5)


def test_weights_saved_before_can_be_loaded() -> None:
    shapes = {
        name: tuple(value.shape) for name, value in Chambon2018(2, 512, 3).state_dict().items()
    }
    assert shapes == {
        "mix.weight": (2, 2),
        "first.weight": (8, 1, 64),
        "first.bias": (8,),
        "second.weight": (8, 8, 64),
        "second.bias": (8,),
        "dense.weight": (3, 32),
        "dense.bias": (3,),
    }


def test_convolutions_keep_the_length() -> None:
    """The last pool of 16 × 16 samples still sees the end of the window."""
    model = Chambon2018(1, 512, 2, dropout=0.0).eval()
    x = torch.zeros(1, 1, 512, requires_grad=True)
    model(x + torch.randn(1, 1, 512)).sum().backward()
    assert x.grad is not None
    assert x.grad[0, 0, -8:].abs().max() > 0


def test_too_short() -> None:
    with pytest.raises(ValueError, match="at least 256 samples for chambon2018, got 200"):
        Chambon2018(2, 200, 5)
