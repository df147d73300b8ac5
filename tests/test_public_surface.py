"""Public names stay, load lazily and are documented."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import cadda

STUB = Path(cadda.__file__).with_suffix(".pyi")

# Users, examples and published code rely on these.
CONTRACT = {
    *("AugmentedClassifier", "CaddaError", "Fitted", "Operation", "OperationPool", "Policy"),
    *("PolicySpec", "SearchResult", "Windows", "__version__", "compare", "evaluate", "fit"),
    *("image_pool", "load_model", "operation_pool", "read_windows", "search"),
    *("simulate_motor_imagery", "simulate_sleep"),
}


def test_names() -> None:
    listed = re.findall(r"^    \"(\w+)\",$", STUB.read_text("utf-8"), re.M)
    assert set(listed) >= CONTRACT
    assert cadda.__all__ == sorted(listed) == dir(cadda)
    for name in listed:
        assert getattr(cadda, name) is not None


def named_classes(hint: Any) -> Iterator[type]:
    """Go through the classes of ours that a type hint consists of."""
    parts = get_args(hint)
    for part in parts:
        yield from named_classes(part)
    if not parts and inspect.isclass(hint) and hint.__module__.startswith("cadda."):
        yield hint


@pytest.mark.parametrize("name", sorted(set(cadda.__all__) - {"__version__"}))
def test_what_signatures_name_is_public(name: str) -> None:
    value = getattr(cadda, name)
    exported = {getattr(cadda, public) for public in cadda.__all__}
    fields_are_hints = is_dataclass(value) or not inspect.isclass(value)
    target = value if fields_are_hints else value.__init__
    hints = get_type_hints(target) if fields_are_hints or inspect.isfunction(target) else {}
    for argument, hint in hints.items():
        for named in named_classes(hint):
            is_protocol = getattr(named, "_is_protocol", False)
            assert is_protocol or named in exported, (
                f"{named.__qualname__}, in `{argument}` of cadda.{name}"
            )


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="polcy"):
        _ = cadda.polcy


def test_import_is_light() -> None:
    script = "import sys, cadda; assert 'torch' not in sys.modules; cadda.Policy"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_help_shows_a_first_look_and_every_name() -> None:
    text = pydoc.render_doc(cadda, renderer=pydoc.plaintext)
    assert "cadda.operation_pool(sfreq=100" in text
    assert "VERSION" in text
    for name in set(cadda.__all__) - {"__version__"}:
        assert name in text
