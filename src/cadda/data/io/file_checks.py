"""Checks of recordings before a reader of MNE opens them."""

from __future__ import annotations

import gzip
import re
import struct
import zlib
from io import BufferedReader
from pathlib import Path

from cadda._internal.limits import (
    MAX_CHANNELS,
    MAX_TEXT,
    LimitError,
    check_gzip,
    check_memory,
    check_regular,
    open_regular,
)

__all__ = ["check_count", "check_recording"]

MAX_TAGS = 1_000_000
MAX_FILES = 100_000

_TAG = struct.Struct(">iIii")  # kind, type, size of the content, place of the next tag
_ELEMENT = struct.Struct("<II")  # type and size of an element of a MATLAB file
_COMPRESSED = 15
_NAMED_FILE = re.compile(
    rb"^\s*(?:DataFile|MarkerFile|File)\s*=\s*([^\r\n]+)", re.MULTILINE | re.I
)
_BLOCK = 1 << 16


def check_recording(path: Path) -> None:
    """Raise `OSError` if a recording, or a file that belongs to it, is not what its name says.

    Pipes and devices would never end, compressed files may not fit into memory, and a list of
    tags may lead back to its beginning.
    """
    if path.is_dir():
        for number, file in enumerate(path.rglob("*")):
            if number >= MAX_FILES:
                raise LimitError(path, f"it has more than {MAX_FILES} files")
            if not file.is_dir():
                check_regular(file)
        return
    check_regular(path)
    name = path.name.casefold()
    for file in _companions(path):
        check_regular(file)
    if name.endswith(".gz"):
        check_gzip(path)
    if name.endswith((".fif", ".fif.gz")):
        with open_regular(path) as plain:
            _check_tags(gzip.GzipFile(fileobj=plain) if name.endswith(".gz") else plain, path)
    elif name.endswith(".set"):
        _check_matlab(path)


def check_count(path: Path, n_channels: int) -> None:
    """Raise if a recording has no channels, or more than any recorder."""
    if not 1 <= n_channels <= MAX_CHANNELS:
        raise LimitError(
            path, f"it has {n_channels} channels, and recordings have 1 to {MAX_CHANNELS}"
        )


def _companions(path: Path) -> list[Path]:
    """Return the files that the reader of a recording opens beside it, as far as they exist."""
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    files = [file for file in path.parent.iterdir() if file.name.startswith(f"{name}.")]
    if path.suffix.casefold() in (".vhdr", ".ahdr", ".lay"):
        with open_regular(path) as file:
            text = file.read(MAX_TEXT)
        for found in _NAMED_FILE.findall(text):
            named = found.decode("utf-8", "replace").strip().replace("$b", path.stem)
            files.append(path.parent / named)
    return [file for file in files if "\0" not in str(file) and file.exists()]


def _check_tags(file: gzip.GzipFile | BufferedReader, path: Path) -> None:
    """Raise if the tags of a FIF file lead backwards or beyond its end."""
    place, n_tags = 0, 0
    while True:
        file.seek(place)
        head = file.read(_TAG.size)
        if len(head) < _TAG.size:
            return
        _, _, size, following = _TAG.unpack(head)
        n_tags += 1
        if size < 0 or n_tags > MAX_TAGS:
            raise LimitError(path, f"its tag at byte {place} is damaged")
        if following < 0:
            return
        if following and following <= place:
            raise LimitError(path, f"its tag at byte {place} leads back to byte {following}")
        place = following or place + _TAG.size + size


def _check_matlab(path: Path) -> None:
    """Raise if the compressed elements of a MATLAB file do not fit into memory."""
    stored, total = check_regular(path), 0
    with open_regular(path) as file:
        file.seek(128)
        while len(head := file.read(_ELEMENT.size)) == _ELEMENT.size:
            kind, size = _ELEMENT.unpack(head)
            end = file.tell() + size
            if kind == _COMPRESSED:
                inflater = zlib.decompressobj()
                while file.tell() < end and not inflater.eof:
                    data = file.read(min(_BLOCK, end - file.tell()))
                    if not data:
                        return
                    while data:
                        try:
                            total += len(inflater.decompress(data, _BLOCK))
                        except zlib.error as error:
                            raise LimitError(path, "its compression is damaged") from error
                        check_memory(path, stored, total)
                        data = inflater.unconsumed_tail
            file.seek(end)
