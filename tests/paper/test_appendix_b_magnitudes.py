"""Appendix B, what a magnitude of 1 means, operation by operation (not numbered).

Frequency shift up to 5 Hz, surrogate phases up to 2π, a stopped band of 2 Hz, noise of standard
deviation 0.2, a mask of 1 s, rotations up to ±π/6, every channel dropped or shuffled. Ranges are
linear in µ. `test_equation_11…` and `test_appendix_b_…` check the first two and the mask.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from mne.channels.interpolation import _make_interpolation_matrix
from scipy.spatial.transform import Rotation
from scipy.stats import binomtest, kstest

from cadda import OperationPool


@pytest.mark.parametrize("magnitude", [0.25, 1.0])
def test_gaussian_noise(magnitude: float, pool: OperationPool, generator: torch.Generator) -> None:
    """σ = 0.2 µ."""
    x = torch.randn(50, 6, 20, generator=generator)
    noise = pool["gaussian_noise"](x, magnitude, generator=generator) - x
    assert kstest(noise.flatten().numpy(), "norm", args=(0, 0.2 * magnitude)).pvalue > 1e-3


@pytest.mark.parametrize("magnitude", [0.25, 1.0])
def test_bandstop(magnitude: float, pool: OperationPool) -> None:
    """An impulse keeps all power but that of 2 µ Hz around the centre, here 20 Hz.

    The paper's filter has no derivative and is left out of gradient-based search; ours has one.
    """
    n_times = 2000
    impulse = torch.zeros(1, 6, n_times, dtype=torch.float64)
    impulse[..., 0] = 1
    centre = 20 / (pool.sfreq / 2)
    filtered = pool["bandstop"].transform(impulse, magnitude, {"middle": torch.tensor([centre])})
    response = np.abs(np.fft.rfft(filtered[0, 0]))
    frequency = np.fft.rfftfreq(n_times, 1 / pool.sfreq)
    half = frequency[response < 0.5]
    assert half.mean() == pytest.approx(20, abs=0.05)
    assert np.ptp(half) == pytest.approx(2 * magnitude, abs=0.11)


@pytest.mark.parametrize("name", ["channel_dropout", "channel_shuffle"])
@pytest.mark.parametrize("magnitude", [0.0, 0.3, 1.0])
def test_channel_dropout_and_shuffle(
    name: str, magnitude: float, pool: OperationPool, generator: torch.Generator
) -> None:
    """A channel is dropped, or selected for shuffling, with probability µ.

    Where all six would be dropped, with probability µ⁶, one of them stays.
    Of m selected channels a random permutation leaves one in place on average (if m > 0), so that
    6 µ − (1 − (1 − µ)⁶) of six channels change.
    """
    n_windows = 3000
    x = torch.randn(n_windows, 6, 4, generator=generator)
    result = pool[name](x, magnitude, generator=generator)
    changed = (result != x).any(-1)
    if name == "channel_dropout":
        assert (result[changed] == 0).all()
        rate = magnitude - magnitude**6 / 6
        assert changed.sum(1).max() < 6
        assert magnitude < 1 or (changed.sum(1) == 5).all()
        assert binomtest(int(changed.sum()), changed.numel(), rate).pvalue > 1e-3
    else:
        assert torch.equal(result.sort(1).values, x.sort(1).values)
        expected = 6 * magnitude - (1 - (1 - magnitude) ** 6)
        counts = changed.sum(1).double()
        error = counts.std().item() / math.sqrt(n_windows)
        assert counts.mean().item() == pytest.approx(expected, abs=3.5 * error)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotation(axis: str, pool: OperationPool, generator: torch.Generator) -> None:
    """ψ = π/6 µ (2u − 1), against MNE's splines towards sensors that scipy rotated."""
    operation, magnitude = pool[f"rotation_{axis}"], 0.4
    x = torch.randn(20, 6, 5, generator=generator, dtype=torch.float64)
    draw = operation.draw(x, generator=generator)
    (share,) = draw.values()
    assert kstest(share.numpy(), "uniform", args=(-1, 2)).pvalue > 1e-3
    result = operation.transform(x, magnitude, draw)
    for window, changed, angle in zip(x, result, math.pi / 6 * magnitude * share, strict=True):
        target = Rotation.from_euler(axis, angle.item()).apply(operation.positions)
        matrix = _make_interpolation_matrix(operation.positions, target, alpha=0)
        np.testing.assert_allclose(changed, matrix @ window.numpy(), atol=1e-6)
