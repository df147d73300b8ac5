"""Pools and generators that many tests share."""

from __future__ import annotations

import os

# Workers share the cores already, and so do the commands that tests start: threads of torch that
# wait for each other on a core that another process has make a second into a minute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from cadda import OperationPool, operation_pool

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


@pytest.fixture
def pool() -> OperationPool:
    """All thirteen operations on six channels at 100 Hz."""
    return operation_pool(sfreq=100.0, ch_names=["C3", "C4", "F3", "F4", "O1", "O2"])


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
