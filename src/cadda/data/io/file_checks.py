"""Checks of recordings before a reader of MNE opens them."""

from __future__ import annotations

import gzip
import re
import struct
from io import BufferedReader
from pathlib import Path

from cadda._internal.limits import (
    MAX_CHANNELS,
    MAX_RECORD,
    MAX_TEXT,
    LimitError,
    check_gzip,
    check_regular,
    open_regular,
    read_bytes,
)
from cadda.data.io.matlab_files import check_matlab

__all__ = ["check_count", "check_recording"]

MAX_TAGS = 1_000_000
MAX_FILES = 100_000

_TEXTS = (".vmrk", ".amrk", ".lay", ".tsv", ".json")
"""Files of text beside a recording, by the end of the name; they are read as a whole."""

_BESIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("edf", "bdf", "gdf", "cnt", "nxe", "nedf"), ()),
    "fif": (".fif", ".fif.gz"),
    "set": (".fdt", ".dat"),
    "vhdr": (".vmrk", ".eeg", ".dat"),
    "ahdr": (".amrk", ".eeg", ".dat"),
    "eeg": (".pnt", ".log", ".21e"),
}
"""What a reader opens beside a recording, by the ends of the names; of others, any file."""

_TAG = struct.Struct(">iIii")  # kind, type, size of the content, place of the next tag
_POINTER = 101  # kind of the tag with the place of the directory
_NAMED_FILE = re.compile(
    rb"^\s*(?:DataFile|MarkerFile|File)\s*=\s*([^\r\n]+)", re.MULTILINE | re.I
)
_CHANNELS = re.compile(
    rb"^\s*(?:NumberOfChannels|WaveformCount)\s*=\s*(\d+)", re.MULTILINE | re.IGNORECASE
)


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
    for file in _companions(path):
        _check_content(file, check_regular(file))


def _check_content(path: Path, size: int) -> None:
    """Check what is in a file of `size` bytes."""
    name = path.name.casefold()
    is_packed = name.endswith(".fif.gz")
    total = check_gzip(path) if is_packed else size
    if name.endswith((".fif", ".fif.gz")):
        with open_regular(path) as plain:
            _check_tags(gzip.GzipFile(fileobj=plain) if is_packed else plain, path, total)
    elif name.endswith(".set"):
        check_matlab(path)
    elif name.endswith(_TEXTS):
        check_regular(path, MAX_RECORD)


def check_count(path: Path, n_channels: int) -> None:
    """Raise if a recording has no channels, or more than any recorder."""
    if not 1 <= n_channels <= MAX_CHANNELS:
        raise LimitError(
            path, f"it has {n_channels} channels, and recordings have 1 to {MAX_CHANNELS}"
        )


def _companions(path: Path) -> list[Path]:
    """Return a recording and the files that its reader opens beside it, as far as they exist."""
    name = path.name.removesuffix(".gz").rpartition(".")[0]
    # Long recordings in FIF continue in files with a number.
    own = re.compile(rf"{re.escape(name)}(-\d+)?\.")
    beside = _BESIDE.get(path.name.removesuffix(".gz").rpartition(".")[2].casefold(), ("",))
    files = [
        file
        for file in path.parent.iterdir()
        if own.match(file.name)
        and (file == path or file.name.casefold().endswith(beside))
        and not file.is_dir()
    ]
    if path.suffix.casefold() in (".vhdr", ".ahdr", ".lay"):
        text = read_bytes(path, MAX_TEXT)
        for count in _CHANNELS.findall(text):
            if len(count) > len(str(MAX_CHANNELS)) or int(count) > MAX_CHANNELS:
                raise LimitError(path, f"its header announces more than {MAX_CHANNELS} channels")
        for found in _NAMED_FILE.findall(text):
            named = found.decode("utf-8", "replace").strip().replace("$b", path.stem)
            files.append(path.parent / named)
    return [file for file in files if "\0" not in str(file) and file.exists()]


def _check_tags(file: gzip.GzipFile | BufferedReader, path: Path, total: int) -> None:
    """Raise if the tags of a FIF file lead backwards or beyond its end, `total` bytes."""
    place, pointer = 0, -1
    places: set[int] = set()
    while True:
        head = _read_at(file, place, _TAG.size)
        if len(head) < _TAG.size:
            break
        kind, _, size, following = _TAG.unpack(head)
        if size < 0 or place + _TAG.size + size > total or len(places) > MAX_TAGS:
            raise LimitError(path, f"it is truncated, or its tag at byte {place} is damaged")
        if kind == _POINTER and size == 4:
            pointer = struct.unpack(">i", file.read(4))[0]
        places.add(place)
        if following < 0:
            break
        if following and following <= place:
            raise LimitError(path, f"its tag at byte {place} leads back to byte {following}")
        place = following or place + _TAG.size + size
    if pointer > 0:
        _check_directory(file, path, pointer, places)


def _check_directory(
    file: gzip.GzipFile | BufferedReader, path: Path, place: int, places: set[int]
) -> None:
    """Raise if the directory of a FIF file lists tags that are none."""
    if place not in places:
        raise LimitError(path, "its directory is damaged")
    size = _TAG.unpack(_read_at(file, place, _TAG.size))[2]
    entries = file.read(size)
    for start in range(0, len(entries) - _TAG.size + 1, _TAG.size):
        listed = _TAG.unpack(entries[start : start + _TAG.size])[3]
        if listed > 0 and listed not in places:
            raise LimitError(path, f"its directory lists byte {listed}, where there is no tag")


def _read_at(file: gzip.GzipFile | BufferedReader, place: int, size: int) -> bytes:
    file.seek(place)
    return file.read(size)
