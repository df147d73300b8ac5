"""The fused convolution against the plain one."""

from __future__ import annotations

import pytest
import torch

from cadda.models import Chambon2018
from cadda.models.convolution import PooledConvolution

SHAPES = [(1, 8, 64, 16, 3000), (8, 8, 64, 16, 187), (3, 5, 7, 4, 33), (2, 3, 5, 1, 20)]


@pytest.mark.parametrize(("n_in", "n_out", "kernel", "pool", "n_times"), SHAPES)
def test_same_values_and_gradients(
    n_in: int, n_out: int, kernel: int, pool: int, n_times: int
) -> None:
    layer = PooledConvolution(n_in, n_out, kernel, pool).double()
    x = torch.randn(4, n_in, n_times, dtype=torch.float64, requires_grad=True)
    results, gradients = [], []
    for form in (layer.plain, layer.fused):
        result = form(x)
        target = torch.linspace(-1, 1, result.numel(), dtype=x.dtype).view_as(result)
        results.append(result)
        gradients.append(
            torch.autograd.grad((result * target).sum(), [x, layer.weight, layer.bias])
        )
    assert results[0].shape == (4, n_out, n_times // pool)
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=1e-12)
    for plain, fused in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, fused, rtol=1e-9, atol=1e-9)


def test_gradients_agree_with_finite_differences() -> None:
    layer = PooledConvolution(2, 3, 5, 4).double()
    x = torch.randn(2, 2, 17, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer.fused, x)


@pytest.mark.parametrize(("n_channels", "n_times"), [(2, 3000), (6, 3840)])
def test_whole_network_is_the_same_in_both_forms(n_channels: int, n_times: int) -> None:
    model = Chambon2018(n_channels, n_times, 5).eval()
    x = torch.randn(4, n_channels, n_times)
    fused = model(x)
    for layer in (model.first, model.second):
        layer.forward = layer.plain  # type: ignore[method-assign]
    torch.testing.assert_close(model(x), fused, rtol=1e-5, atol=1e-5)
