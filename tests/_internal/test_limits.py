"""Limits of what is read, checked before memory is allocated for it."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cadda._internal.archives import load_arrays
from cadda._internal.limits import (
    MAX_DEPTH,
    LimitError,
    check_gzip,
    check_memory,
    format_bytes,
    open_regular,
    parse_json,
    parse_toml,
    read_bytes,
    read_text,
)


def test_pipes_devices_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, kind in {"pipe": "a pipe", "zero": "a device", ".": "a folder"}.items():
        with pytest.raises(LimitError, match=f"it is {kind}, not a file"):
            open_regular(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nowhere")


def test_a_file_of_a_terabyte(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(10**12)
    tracemalloc.start()
    with pytest.raises(LimitError, match=r"it has 1 TB, and at most 1\.05 MB are read"):
        read_bytes(path, 1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_text_has_any_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("a\r\nµ\r\n".encode())
    assert read_text(path) == "a\nµ\n"


def test_nesting() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_json(deepest) == parse_json(deepest.encode())
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(ValueError, match="nested deeper than 64 levels"):
            parse_json("[" * depth + "]" * depth)
    # Brackets in text, and beside each other, are no nesting.
    assert parse_json('["' + '[\\"' * 1000 + '"]') == ['["' * 1000]
    assert len(parse_json("[" + "[]," * 1000 + "[]]")) == 1001
    with pytest.raises(ValueError, match="nested deeper"):
        parse_toml("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(ValueError, match="nested deeper"):
        parse_toml(".".join("a" * 100) + " = 1")


def test_halves_of_characters() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"
    with pytest.raises(ValueError, match=r"half of a character, '\\ud83d'"):
        parse_json('["\\ud83d"]')


def test_growth(tmp_path: Path) -> None:
    check_memory("small", 1, 10_000_000)
    check_memory("large", 10_000_000, 900_000_000)
    with pytest.raises(LimitError, match="it has 1 MB, but would take 200 MB in memory"):
        check_memory("bomb", 1_000_000, 200_000_000)
    with pytest.raises(LimitError, match="and this machine has"):
        check_memory("huge", 10**15, 10**15)


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"abc") + gzip.compress(b"de") + b"\0\0")
    assert check_gzip(path) == 5
    path.write_bytes(gzip.compress(bytes(100_000))[:-9])
    with pytest.raises(LimitError, match="it is truncated"):
        check_gzip(path)
    bomb = gzip.compress(bytes(100_000_000), 9)
    path.write_bytes(bomb)
    tracemalloc.start()
    with pytest.raises(LimitError, match="more than 100 times as much"):
        check_gzip(path)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (10**15,), }", "malformed"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", "another size"),
        ("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }", "another size"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "Python objects"),
    ],
)
def test_arrays_that_announce_more(header: str, problem: str, tmp_path: Path) -> None:
    head = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises((LimitError, ValueError), match=problem), path.open("rb") as file:
        load_arrays(file, path)


def test_arrays_are_those_of_numpy(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "µ"]), "n": np.array(3)}
    arrays["columns"] = np.asfortranarray(arrays["x"])
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **arrays)
    loaded = load_arrays(io.BytesIO(path.read_bytes()), path)
    assert {name: value.tolist() for name, value in loaded.items()} == {
        name: value.tolist() for name, value in arrays.items()
    }


def test_sizes_in_words() -> None:
    sizes = [0, 999, 1500, 123_456, 10**9, 3 * 10**15]
    words = ["0 bytes", "999 bytes", "1.5 kB", "123 kB", "1 GB", "3 PB"]
    assert list(map(format_bytes, sizes)) == words
