"""What the tests with braindecode share."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def augmentation() -> ModuleType:
    """Return braindecode's transforms, or skip where it cannot be imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "braindecode.augmentation",
            reason="braindecode is not installed or does not work here",
            exc_type=Exception,
        )
