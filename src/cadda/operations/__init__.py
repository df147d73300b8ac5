"""The augmentation operations, each x → O(x; µ) with its random draw apart."""

from __future__ import annotations

from cadda._internal.random import normal, uniform
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE, OperationInfo
from cadda.operations.label_maps import LabelMap
from cadda.operations.pool import OperationPool
from cadda.operations.pools import eeg_pool, image_pool

__all__ = [
    "CATALOGUE",
    "LabelMap",
    "Operation",
    "OperationInfo",
    "OperationPool",
    "eeg_pool",
    "image_pool",
    "normal",
    "uniform",
]
