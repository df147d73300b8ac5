"""Names for the types that cross module borders."""

from __future__ import annotations

from typing import TypeAlias

from torch import Tensor

Draw: TypeAlias = dict[str, Tensor]
"""All random numbers of one call of an operation; every tensor has one row per window."""

Magnitude: TypeAlias = float | Tensor
"""Strength in [0, 1]: one number for all windows, or one per window of shape (n_windows,)."""
