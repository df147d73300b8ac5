"""Writing files: what is wrong with a path is said in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cadda import CaddaError
from cadda._internal.files import make_folder, write_text_atomically
from cadda._internal.text import short_reason


def test_folders_are_made(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert make_folder(str(tmp_path / "a")).is_dir()


@pytest.mark.parametrize("inside", [".", "run", "run/deeper"])
def test_path_through_a_file(tmp_path: Path, inside: str) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CaddaError) as caught:
        make_folder(file / inside)
    assert str(caught.value) == f"cannot create folder {file / inside}: {file} is a file."
    with pytest.raises(CaddaError) as caught:
        write_text_atomically(file / inside / "x.json", "{}")
    assert "cannot write " in str(caught.value)
    assert "Errno" not in str(caught.value)


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "none" / "x.json"
    with pytest.raises(CaddaError) as caught:
        write_text_atomically(target, "{}")
    expected = f"cannot write {target}: the folder {target.parent} does not exist."
    assert str(caught.value) == expected


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not stop root")
def test_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CaddaError, match=r"cannot write .*: Permission denied"):
        write_text_atomically(tmp_path / "x.json", "{}")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(13, "Permission denied", "/x"), "Permission denied"),
        (OSError("no connection."), "no connection"),
        (ValueError("two\n  lines"), "two lines"),
        (ValueError(), "ValueError"),
    ],
)
def test_reasons(error: Exception, reason: str) -> None:
    assert short_reason(error) == reason
