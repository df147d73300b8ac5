"""Data of the tests of what cadda promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_commands import tiny_windows


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "windows.npz"
    tiny_windows().save(path)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that commands write to."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder
