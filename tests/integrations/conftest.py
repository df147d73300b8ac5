"""What the tests with braindecode share."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def augmentation() -> ModuleType:
    """Give braindecode's transforms; it fails in many ways where torch's packages do not fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "braindecode.augmentation",
            reason="braindecode is not installed or does not work here",
            exc_type=Exception,
        )
