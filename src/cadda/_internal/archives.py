"""Arrays in ``.npy`` and ``.npz`` files, whose headers are checked before anything is read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.limits import AnyPath, LimitError, check_memory, check_regular

__all__ = ["array_name", "check_archive", "check_array", "load_arrays"]

MAX_ARRAYS = 1000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_VERSIONS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def load_arrays(
    file: IO[bytes], path: AnyPath, *, without: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an open ``.npz`` file by name, all but some; never unpickle anything.

    A damaged archive raises whatever zip files, compression and NumPy raise.
    """
    with zipfile.ZipFile(file) as archive:
        check_archive(archive, path, mapped=without)
        arrays = {}
        for info in archive.infolist():
            name = array_name(info)
            if name in without:
                continue
            with archive.open(info) as content:
                arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
                if content.read(1):
                    raise zipfile.BadZipFile("an array is shorter than its entry")
    return arrays


def check_archive(
    archive: zipfile.ZipFile, path: AnyPath, *, mapped: Collection[str] = ()
) -> None:
    """Raise if an archive has other entries than arrays, or if these do not fit into memory.

    Those that are `mapped` need not fit.
    """
    entries = archive.infolist()
    if len(entries) > MAX_ARRAYS:
        raise LimitError(path, f"it has {len(entries)} arrays, and at most {MAX_ARRAYS} are read")
    if len({info.filename for info in entries}) < len(entries):
        raise LimitError(path, "it has two arrays of the same name")
    for info in entries:
        if info.flag_bits & _ENCRYPTED:
            raise LimitError(path, f"its array {info.filename!r} is encrypted")
        if info.compress_type not in _METHODS:
            raise LimitError(
                path, f"its array {info.filename!r} is compressed by another method than deflate"
            )
    in_memory = [info for info in entries if array_name(info) not in mapped]
    check_memory(path, check_regular(path), sum(info.file_size for info in in_memory))
    for info in entries:
        with archive.open(info) as content:
            check_array(content, path, info.filename, info.file_size)


def array_name(info: zipfile.ZipInfo) -> str:
    """Return the name of an array."""
    return info.filename.removesuffix(".npy")


def check_array(file: IO[bytes], path: AnyPath, name: str, size: int) -> None:
    """Raise unless the header of an array announces as many bytes as follow it."""
    read_header = _VERSIONS.get(np.lib.format.read_magic(file))
    if read_header is None:
        raise LimitError(path, f"its array {name!r} is of an unknown version")
    shape, _, kind = read_header(file)
    if kind.hasobject:
        raise LimitError(
            path,
            f"its array {name!r} holds Python objects, which are never loaded; save names as "
            "arrays of text",
        )
    # Text of no characters takes no bytes in a file, but memory for each element.
    announced = math.prod(shape) * max(kind.itemsize, 1)
    if min(shape, default=0) < 0 or announced != size - file.tell():
        raise LimitError(path, f"its array {name!r} has another size than its header says")
