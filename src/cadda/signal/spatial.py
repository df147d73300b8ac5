"""Functions of channels: permutations and rotations of the sensors on the head."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["permute_channels", "permute_selected", "rotate_sensors", "rotation_harmonics"]

STIFFNESS = 4
LEGENDRE_TERMS = 50


def permute_channels(x: Tensor, permutation: Tensor) -> Tensor:
    """Permute the channels of each window.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    permutation : Tensor
        int64, shape (n_windows, n_channels): channel ``i`` of a result is channel
        ``permutation[i]`` of the window.

    Returns
    -------
    Tensor
        Permuted windows.
    """
    n_windows, n_channels, n_times = x.shape
    first = torch.arange(n_windows, device=x.device)[:, None] * n_channels
    rows = (first + permutation).flatten()
    return x.reshape(n_windows * n_channels, n_times).index_select(0, rows).view_as(x)


def permute_selected(selected: Tensor, key: Tensor) -> Tensor:
    """Permute the selected channels of each window among themselves.

    Parameters
    ----------
    selected : Tensor
        bool, shape (n_windows, n_channels).
    key : Tensor
        Random numbers in (0, 1), same shape; their order decides the permutation, so uniform keys
        make every permutation of the selected channels equally likely.

    Returns
    -------
    Tensor
        Permutations as in `permute_channels`; a channel that is not selected stays.
    """
    n_channels = selected.shape[1]
    position = torch.arange(n_channels, device=key.device).expand_as(key)
    # Selected channels first, once in their own order and once in random order; the rest follows
    # in its own order both times and so stays in place.
    target = torch.where(selected, position, position + n_channels).argsort(dim=1)
    source = torch.where(selected, key, position + 1.0).argsort(dim=1)
    return torch.empty_like(target).scatter_(1, target, source)


def rotation_harmonics(
    positions: NDArray[np.float64], axis: Literal["x", "y", "z"]
) -> NDArray[np.float64]:
    r"""Compute all that a rotation of the sensors needs except the angle.

    The matrix M(ψ) that interpolates signals from the sensors to the sensors turned by ψ is, for
    spherical splines of n Legendre terms, a trigonometric polynomial of degree n in ψ,

    .. math:: M(\psi) = A_0 + \sum_{k=1}^{n} A_k \cos k\psi + B_k \sin k\psi,

    whose coefficients are found exactly from its values at 2n + 1 angles. Returns A_1 … A_n
    followed by B_1 … B_n, shape (2 * n, n_channels, n_channels); `rotate_sensors` does not need
    A_0.

    The ``positions`` (n_channels, 3) are around the centre of the head, x to the right, y to the
    front, z up, in any unit. Sensors with NaN do not take part and keep their signals.

    References
    ----------
    Perrin et al. (1989), Spherical splines for scalp potential and current density mapping.
    """
    known = np.isfinite(positions).all(axis=1)
    sensors = positions[known] / np.linalg.norm(positions[known], axis=1, keepdims=True)
    solve = _spline_solver(sensors)
    n_angles = 2 * LEGENDRE_TERMS + 1
    angles = 2 * np.pi * np.arange(n_angles) / n_angles
    matrices = np.stack(
        [_spline_kernel(sensors @ _rotation(axis, angle).T @ sensors.T) for angle in angles]
    )
    # The constant column of the splines does not depend on the angle and falls into A_0.
    spectrum = np.fft.rfft(matrices @ solve, axis=0)[1:] * (2 / n_angles)
    harmonics = np.zeros((2 * LEGENDRE_TERMS, len(positions), len(positions)))
    harmonics[np.ix_(np.arange(len(harmonics)), known, known)] = np.concatenate(
        [spectrum.real, -spectrum.imag]
    )
    return harmonics


def rotate_sensors(x: Tensor, angle: Tensor, harmonics: Tensor) -> Tensor:
    r"""Interpolate each window to its sensors turned by its own angle.

    Computes :math:`x + (M(\psi) - M(0))\,x`, so that an angle of 0 is exactly the identity even
    where two sensors share a position and M(0) is not.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    angle : Tensor
        ψ in radians, shape (n_windows,).
    harmonics : Tensor
        Result of `rotation_harmonics` with the dtype of ``x``.

    Returns
    -------
    Tensor
        Rotated windows, differentiable in ``x`` and ``angle``.
    """
    n_terms, n_channels = len(harmonics) // 2, harmonics.shape[1]
    order = torch.arange(1, n_terms + 1, dtype=x.dtype, device=x.device)
    multiples = angle[:, None] * order
    # cos kψ − 1 = −2 sin²(kψ/2), without the loss of digits near 0.
    basis = torch.cat([-2 * torch.sin(multiples / 2) ** 2, torch.sin(multiples)], dim=1)
    change = (basis @ harmonics.flatten(1)).view(len(x), n_channels, n_channels)
    return torch.baddbmm(x, change, x)


def _rotation(axis: str, angle: float) -> NDArray[np.float64]:
    """Return the right-handed rotation matrix about one axis."""
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[second, first] = np.sin(angle)
    matrix[first, second] = -np.sin(angle)
    return matrix


def _spline_kernel(cosine: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate Perrin's g at the cosines of the angles between sensors."""
    n = np.arange(1, LEGENDRE_TERMS + 1)
    factors = (2 * n + 1) / (4 * np.pi * (n * (n + 1.0)) ** STIFFNESS)
    return np.asarray(np.polynomial.legendre.legval(cosine, [0.0, *factors]))


def _spline_solver(sensors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that maps signals to the weights of the splines that interpolate them."""
    n_sensors = len(sensors)
    system = np.ones((n_sensors + 1, n_sensors + 1))
    system[:-1, :-1] = _spline_kernel(sensors @ sensors.T)
    system[-1, -1] = 0
    return np.asarray(np.linalg.pinv(system, rcond=1e-12, hermitian=True)[:-1, :-1], dtype=float)
