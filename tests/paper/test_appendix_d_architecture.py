"""Appendix D, Table 1: layers, parameters and sizes of the network of Chambon et al. (2018)."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import conv1d, max_pool1d, pad, relu

from cadda.models.networks import Chambon2018


@pytest.mark.parametrize(("n_channels", "n_times"), [(2, 3000), (6, 3840)])
def test_parameters(n_channels: int, n_times: int) -> None:
    """The dense layer has a bias besides, which the table leaves out."""
    model = Chambon2018(n_channels, n_times, 5)
    expected = {
        "mix": n_channels * n_channels,
        "first": 8 * 64 + 8,
        "second": 8 * 8 * 64 + 8,
        "dense": 5 * (n_channels * (n_times // 256) * 8) + 5,
    }
    counts = {
        name: sum(parameter.numel() for parameter in layer.parameters())
        for name, layer in model.named_children()
    }
    assert {name: count for name, count in counts.items() if count} == expected
    assert [layer.p for layer in model.modules() if isinstance(layer, nn.Dropout)] == [0.5]


def test_layers(generator: torch.Generator) -> None:
    """Row by row with torch's own functions, without dropout."""
    model = Chambon2018(2, 600, 5).double().eval()
    x = torch.randn(3, 2, 600, generator=generator, dtype=torch.float64)
    mixed = torch.einsum("vc,bct->bvt", model.mix.weight, x)
    features = mixed.reshape(6, 1, 600)
    for layer in (model.first, model.second):
        weight, bias = layer.parameters()
        convolved = conv1d(pad(features, (31, 32)), weight, bias)
        features = max_pool1d(relu(convolved), 16)
    expected = model.dense(features.reshape(3, -1))
    torch.testing.assert_close(model(x), expected)
