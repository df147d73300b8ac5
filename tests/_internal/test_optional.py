"""Packages that are absent or broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda._internal.optional import probe


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_binary.py").write_text("raise OSError('libfoo.so: cannot open\\nmore')")
    (tmp_path / "needs_another.py").write_text("import surely_not_installed")
    monkeypatch.syspath_prepend(tmp_path)


def test_works() -> None:
    found = probe("torch")
    assert found.problem is None
    assert found.version
    assert found.version[0].isdigit()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("surely_not_installed", "not installed"),
        ("needs_another", "needs surely_not_installed, which is not installed"),
        ("broken_binary", "OSError: libfoo.so: cannot open"),
    ],
)
def test_says_why_it_fails(name: str, problem: str) -> None:
    found = probe(name)
    assert found.version is None
    assert found.problem == problem
