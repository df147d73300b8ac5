"""The fused convolution against the plain one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, jvp, vmap

from cadda.models import _fused_convolution
from cadda.models._fused_convolution import PooledConvolution
from cadda.models.networks import Chambon2018

SHAPES = [
    (1, 8, 64, 16, 3000),
    (8, 8, 64, 16, 187),
    (3, 5, 7, 4, 33),
    (2, 3, 5, 1, 20),
    (2, 3, 3, 7, 30),
    (2, 3, 1, 4, 11),
]
forward_mode = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
"""Torch compiles a few formulas with what it has deprecated when forward mode is first used."""


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


def test_same_values_and_gradients_in_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = PooledConvolution(2, 3, 5, 4).double()
    x = torch.randn(5, 2, 33, dtype=torch.float64, requires_grad=True)

    def results() -> list[Tensor]:
        result = layer.fused(x)
        return [result, *torch.autograd.grad(result.square().sum(), [x, *layer.parameters()])]

    whole = results()
    monkeypatch.setattr(_fused_convolution, "MOST_BLOCKS", 20)
    for one, parts in zip(whole, results(), strict=True):
        torch.testing.assert_close(one, parts, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_in", "n_out", "kernel", "pool", "n_times"), SHAPES)
def test_without_gradients_values_are_the_same_bytes(
    n_in: int, n_out: int, kernel: int, pool: int, n_times: int
) -> None:
    layer = PooledConvolution(n_in, n_out, kernel, pool)
    x = torch.randn(4, n_in, n_times)
    with torch.no_grad():
        result = layer.fused(x)
    assert torch.equal(result, layer.fused(x))
    # Whatever is not a number must remain so.
    x[0, 0, n_times // 2] = torch.nan
    with torch.no_grad():
        result = layer.fused(x)
    assert result.isnan().any()
    torch.testing.assert_close(result, layer.fused(x).detach(), rtol=0, atol=0, equal_nan=True)


def test_several_gradients_of_one_graph() -> None:
    """Each as if it were the only one, and second derivatives after a first one without graph."""
    layer = PooledConvolution(2, 3, 5, 4).double()
    x = torch.randn(5, 2, 33, dtype=torch.float64, requires_grad=True)

    def second(gradient: Tensor) -> Tensor:
        return torch.autograd.grad(gradient.square().sum(), x, retain_graph=True)[0]

    result = layer.fused(x)
    targets = torch.randn(2, *result.shape, dtype=x.dtype)
    for target in targets:
        (made,) = torch.autograd.grad((result * target).sum(), layer.weight, retain_graph=True)
        plain = layer.plain(x)
        (expected,) = torch.autograd.grad((plain * target).sum(), layer.weight, create_graph=True)
        torch.testing.assert_close(made, expected, rtol=1e-9, atol=1e-9)
        (again,) = torch.autograd.grad((result * target).sum(), layer.weight, create_graph=True)
        torch.testing.assert_close(second(again), second(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_labels", [1, 7, 96, 2**16, 2**16 + 1])
def test_labels_are_grouped_in_their_order(n_labels: int) -> None:
    label = torch.randint(0, n_labels, (5000,), generator=torch.Generator().manual_seed(0)).int()
    order, starts = _fused_convolution._grouped(label, n_labels)
    expected = [(label == number).nonzero().squeeze(1) for number in range(min(n_labels, 100))]
    ends = [*starts[1:].tolist(), len(label)]
    for number, wanted in enumerate(expected):
        assert torch.equal(order[starts[number] : ends[number]], wanted)
    assert order.sort().values.tolist() == list(range(5000))


def test_single_precision_has_the_same_gradients() -> None:
    """Torch has kernels of its own for it."""
    torch.manual_seed(0)
    layer = PooledConvolution(2, 8, 64, 16)
    x = torch.randn(3, 2, 400, requires_grad=True)
    single = torch.autograd.grad(layer.fused(x).square().sum(), [x, *layer.parameters()])
    double = torch.autograd.grad(
        layer.double().plain(x.double()).square().sum(), [x, *layer.parameters()]
    )
    for gradient, expected in zip(single, double, strict=True):
        torch.testing.assert_close(gradient, expected.to(gradient.dtype), rtol=1e-4, atol=1e-4)


@forward_mode
def test_derivatives_agree_with_finite_differences() -> None:
    layer = PooledConvolution(2, 3, 5, 4).double()
    x = torch.randn(2, 2, 17, dtype=torch.float64, requires_grad=True)

    def pooled(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        result: Tensor = functional_call(layer, {"weight": weight, "bias": bias}, (x,))
        return result

    inputs = (x, layer.weight, layer.bias)
    assert torch.autograd.gradcheck(pooled, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(pooled, inputs, fast_mode=True)


def test_several_weights_at_once() -> None:
    layer = PooledConvolution(2, 3, 5, 4).double()
    x = torch.randn(2, 2, 17, dtype=torch.float64)
    weights = torch.randn(4, *layer.weight.shape, dtype=torch.float64)

    def pooled(weight: Tensor) -> Tensor:
        result: Tensor = functional_call(layer, {"weight": weight}, (x,))
        return result

    one_by_one = torch.stack([pooled(weight) for weight in weights])
    torch.testing.assert_close(vmap(pooled)(weights), one_by_one, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_channels", "n_times"), [(2, 3000), (6, 3840)])
def test_whole_network_is_the_same_in_both_forms(n_channels: int, n_times: int) -> None:
    model = Chambon2018(n_channels, n_times, 5).eval()
    x = torch.randn(4, n_channels, n_times)
    fused = model(x)
    for layer in (model.first, model.second):
        layer.forward = layer.plain
    torch.testing.assert_close(model(x), fused, rtol=1e-5, atol=1e-5)


@forward_mode
@pytest.mark.parametrize(("n_channels", "n_times"), [(2, 3000), (6, 3840)])
def test_whole_network_has_the_same_derivatives_in_both_forms(
    n_channels: int, n_times: int
) -> None:
    """Logits, their slope along a change of all weights, and the gradients of both."""
    model = Chambon2018(n_channels, n_times, 5).double().eval()
    x = torch.randn(4, n_channels, n_times, dtype=torch.float64, requires_grad=True)
    weights = {name: value.detach() for name, value in model.named_parameters()}
    direction = {name: torch.randn_like(value) for name, value in weights.items()}

    def logits_with(weights: dict[str, Tensor]) -> Tensor:
        logits: Tensor = functional_call(model, weights, (x,))
        return logits

    def results() -> list[Tensor]:
        logits, slope = jvp(logits_with, (weights,), (direction,))[:2]
        gradients = [
            torch.autograd.grad(of.square().sum(), x, retain_graph=True)[0]
            for of in (logits, slope)
        ]
        return [logits, slope, *gradients]

    all_fused = results()
    for layer in (model.first, model.second):
        layer.forward = layer.plain
    for plain, fused in zip(results(), all_fused, strict=True):
        torch.testing.assert_close(plain, fused, rtol=0, atol=1e-10)
