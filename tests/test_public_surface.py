"""Public names stay, load lazily and are documented."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import pytest

import cadda

NAMES = [
    "AugmentedClassifier",
    "CaddaError",
    "EnumeratedPolicy",
    "Fitted",
    "MixturePolicy",
    "Operation",
    "OperationPool",
    "Policy",
    "PolicySpec",
    "RelaxedPolicy",
    "Screening",
    "SearchResult",
    "StagedPolicy",
    "Windows",
    "__version__",
    "evaluate",
    "fit",
    "image_pool",
    "load_model",
    "operation_pool",
    "read_windows",
    "screen",
    "search",
    "simulate_sleep",
]


def test_names() -> None:
    assert cadda.__all__ == NAMES
    assert dir(cadda) == sorted(NAMES)
    for name in NAMES:
        assert getattr(cadda, name) is not None


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'cadda' has no attribute 'polcy'"):
        _ = cadda.polcy


def test_import_is_light() -> None:
    script = "import sys, cadda; assert 'torch' not in sys.modules; cadda.Policy"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_help_shows_a_first_look_and_every_name() -> None:
    text = pydoc.render_doc(cadda, renderer=pydoc.plaintext)
    assert "cadda.operation_pool(sfreq=100" in text
    assert "VERSION" in text
    for name in set(NAMES) - {"__version__"}:
        assert name in text
