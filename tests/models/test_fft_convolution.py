"""Convolution by Fourier transforms, compared with torch's own."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import conv1d

from cadda.models._fft_convolution import MIN_CHANNELS, convolve


def windows_and_filters(n_channels: int, n_times: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n_channels * n_times)
    shapes = (5, n_channels, n_times), (3, n_channels, 25)
    x, kernels = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    return x.requires_grad_(), kernels.requires_grad_()


@pytest.mark.parametrize("n_channels", [2, MIN_CHANNELS, 19])
@pytest.mark.parametrize("n_times", [25, 40, 97, 400])  # 97 is prime, 25 as long as the filters
def test_is_a_convolution_with_its_gradients(n_channels: int, n_times: int) -> None:
    x, kernels = windows_and_filters(n_channels, n_times)
    made, expected = convolve(x, kernels), conv1d(x, kernels)
    assert made.shape == expected.shape
    torch.testing.assert_close(made, expected)
    gradient = torch.randn(made.shape, dtype=made.dtype)
    for mine, other in zip(
        torch.autograd.grad(made, (x, kernels), gradient),
        torch.autograd.grad(expected, (x, kernels), gradient),
        strict=True,
    ):
        torch.testing.assert_close(mine, other)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from rules of torch itself
def test_has_a_forward_derivative() -> None:
    x, kernels = (part.detach() for part in windows_and_filters(MIN_CHANNELS, 60))
    slope = torch.randn_like(kernels)
    _, made = torch.func.jvp(lambda k: convolve(x, k), (kernels,), (slope,))
    torch.testing.assert_close(made, conv1d(x, slope))


def test_half_precision_is_left_to_torch() -> None:
    x, kernels = (part.detach().bfloat16() for part in windows_and_filters(MIN_CHANNELS, 60))
    torch.testing.assert_close(convolve(x, kernels), conv1d(x, kernels))
