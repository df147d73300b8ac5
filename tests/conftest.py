"""Pools and generators that many tests share."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import settings

from cadda import OperationPool, operation_pool

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several workers share the cores already.
    torch.set_num_threads(1)


@pytest.fixture
def pool() -> OperationPool:
    """All thirteen operations on six channels at 100 Hz."""
    return operation_pool(sfreq=100.0, ch_names=["C3", "C4", "F3", "F4", "O1", "O2"])


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
