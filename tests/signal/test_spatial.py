"""Rotations and permutations against MNE, geometry and counting."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from mne.channels.interpolation import _make_interpolation_matrix
from scipy import stats
from scipy.spatial.transform import Rotation

from cadda.data.channels import resolve_montage
from cadda.signal.spatial import (
    permute_channels,
    permute_selected,
    rotate_sensors,
    rotation_harmonics,
)

TEN_TWENTY = [
    "Fp1",
    "Fpz",
    "Fp2",
    "F7",
    "F3",
    "Fz",
    "F4",
    "F8",
    "T7",
    "C3",
    "Cz",
    "C4",
    "T8",
    "P7",
    "P3",
    "Pz",
    "P4",
    "P8",
    "O1",
    "Oz",
    "O2",
    "FC5",
    "FC1",
    "FC2",
    "FC6",
    "CP5",
    "CP1",
    "CP2",
    "CP6",
    "AF3",
    "AF4",
    "PO3",
    "PO4",
]


def rotated(x: torch.Tensor, degrees: float, positions: np.ndarray, axis: str) -> torch.Tensor:
    harmonics = torch.from_numpy(rotation_harmonics(positions, axis)).to(x.dtype)
    angle = torch.full((len(x),), np.radians(degrees), dtype=x.dtype)
    return rotate_sensors(x, angle, harmonics)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.parametrize("degrees", [-30.0, -7.0, 12.0, 30.0])
@pytest.mark.parametrize("names", [["C3", "C4", "F3", "F4", "O1", "O2"], TEN_TWENTY])
def test_rotation_agrees_with_mne(names: list[str], degrees: float, axis: str) -> None:
    """MNE's spline matrix towards positions that SciPy rotated, without its smoothing."""
    positions = resolve_montage(names).positions
    target = Rotation.from_euler(axis, degrees, degrees=True).apply(positions)
    matrix = torch.from_numpy(_make_interpolation_matrix(positions, target, alpha=0))
    x = torch.randn(3, len(names), 50, dtype=torch.float64)
    torch.testing.assert_close(rotated(x, degrees, positions, axis), matrix @ x, atol=1e-6, rtol=0)


def fibonacci_sphere(n: int) -> np.ndarray:
    height = 1 - (2 * np.arange(n) + 1) / n
    angle = np.pi * (1 + 5**0.5) * np.arange(n)
    ring = np.sqrt(1 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


def smooth_field(positions: np.ndarray) -> torch.Tensor:
    """Compute spherical harmonics of degrees 1 and 2 at the sensors."""
    x, y, z = positions.T
    return torch.from_numpy(np.stack([x, y, z, x * y, y * z, x**2 - z**2], axis=1))[None]


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotation_of_a_smooth_field_is_the_field_at_the_rotated_sensors(axis: str) -> None:
    positions = fibonacci_sphere(60)
    moved = Rotation.from_euler(axis, 25, degrees=True).apply(positions)
    result = rotated(smooth_field(positions), 25, positions, axis)
    torch.testing.assert_close(result, smooth_field(moved), atol=0.01, rtol=0)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotation_forth_and_back_is_the_identity_on_a_smooth_field(axis: str) -> None:
    positions = fibonacci_sphere(60)
    field = smooth_field(positions)
    back = rotated(rotated(field, 30, positions, axis), -30, positions, axis)
    torch.testing.assert_close(back, field, atol=0.01, rtol=0)
    assert (rotated(field, 30, positions, axis) - field).abs().max() > 0.2


def test_rotation_by_nothing_is_exact_even_where_sensors_coincide() -> None:
    positions = resolve_montage(["C3-A2", "C3-M1", "C4", "O1", "O2"]).positions
    x = torch.randn(2, 5, 10)
    assert torch.equal(rotated(x, 0.0, positions, "x"), x)


def test_rotation_leaves_channels_without_position_alone() -> None:
    positions = resolve_montage(["C3", "C4", "O1", "O2", "EOG left"]).positions
    x = torch.randn(2, 5, 10)
    result = rotated(x, 20.0, positions, "z")
    assert torch.equal(result[:, 4], x[:, 4])
    alone = rotated(x[:, :4], 20.0, positions[:4], "z")
    torch.testing.assert_close(result[:, :4], alone)


def test_permute_channels_is_indexing() -> None:
    x = torch.arange(2 * 3 * 4.0).view(2, 3, 4)
    permutation = torch.tensor([[2, 0, 1], [0, 2, 1]])
    expected = torch.stack([x[0, [2, 0, 1]], x[1, [0, 2, 1]]])
    assert torch.equal(permute_channels(x, permutation), expected)


def test_selected_channels_are_permuted_uniformly_and_others_stay() -> None:
    generator = torch.Generator().manual_seed(0)
    selected = torch.tensor([True, False, True, True, False]).expand(30_000, 5)
    key = torch.rand(30_000, 5, generator=generator)
    permutation = permute_selected(selected, key)
    assert (permutation[:, [1, 4]] == torch.tensor([1, 4])).all()
    codes = permutation[:, [0, 2, 3]] @ torch.tensor([25, 5, 1])
    expected = [25 * a + 5 * b + c for a, b, c in permutations((0, 2, 3))]
    counts = [int((codes == code).sum()) for code in expected]
    assert sum(counts) == 30_000
    assert stats.chisquare(counts).pvalue > 1e-3
