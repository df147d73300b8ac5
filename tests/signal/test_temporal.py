"""Moving signals in time, against padding, splines and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.interpolate import CubicHermiteSpline

from cadda.signal.temporal import read_at, shift_in_time


@pytest.mark.parametrize("n_times", [50, 51])
@pytest.mark.parametrize("shift", [-7, -1, 0, 1, 12])
def test_whole_samples_are_moved_and_the_end_is_mirrored(
    shift: int, n_times: int, generator: torch.Generator
) -> None:
    x = torch.randn(2, 3, n_times, generator=generator, dtype=torch.float64)
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (20, 20)), mode="symmetric")
    expected = padded[..., 20 - shift : 20 - shift + n_times]
    moved = shift_in_time(x, torch.full((2,), float(shift), dtype=torch.float64))
    np.testing.assert_allclose(moved.numpy(), expected, atol=1e-12)


def test_a_fraction_of_a_sample_is_exact_for_a_cosine() -> None:
    # Its mirror image continues a cosine whose extrema are half a sample outside of the window.
    sample = torch.arange(64, dtype=torch.float64) + 0.5
    shift = torch.tensor([0.3, -2.7], dtype=torch.float64)
    wave = torch.cos(math.pi * 11 / 64 * sample).expand(2, 1, 64)
    expected = torch.cos(math.pi * 11 / 64 * (sample - shift[:, None]))[:, None]
    torch.testing.assert_close(shift_in_time(wave, shift), expected)


def test_reading_is_that_of_hermite_splines_with_central_slopes(
    generator: torch.Generator,
) -> None:
    x = torch.randn(1, 2, 40, generator=generator, dtype=torch.float64)
    position = 1 + 37 * torch.rand(1, 40, generator=generator, dtype=torch.float64)
    padded = np.pad(x[0].numpy(), ((0, 0), (1, 1)), mode="edge")
    slopes = (padded[:, 2:] - padded[:, :-2]) / 2
    spline = CubicHermiteSpline(np.arange(40), x[0].numpy(), slopes, axis=1)
    np.testing.assert_allclose(
        read_at(x, position)[0].numpy(), spline(position[0].numpy()), atol=1e-12
    )


@pytest.mark.parametrize("n_times", [1, 2, 40])
def test_reading_at_samples_is_exact(n_times: int, generator: torch.Generator) -> None:
    x = torch.randn(2, 3, n_times, generator=generator)
    order = torch.stack([torch.randperm(n_times, generator=generator) for _ in range(2)])
    expected = torch.stack([window[:, index] for window, index in zip(x, order, strict=True)])
    assert torch.equal(read_at(x, order.float()), expected)
