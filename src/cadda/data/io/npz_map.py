"""Arrays of an uncompressed ``.npz`` file, memory-mapped where they are."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.archives import array_name, check_archive

__all__ = ["MIN_BYTES", "map_array"]

MIN_BYTES = 1 << 26
"""Size from which arrays are mapped; smaller ones are read, and no longer depend on the file."""

_BLOCK = 1 << 22
_LOCAL_HEADER = struct.Struct("<26xHH")  # of an entry of a zip file: lengths of name and rest


def map_array(file: IO[bytes], path: Path) -> NDArray[Any] | None:
    """Map the windows, copy on write, once their checksum was compared; None to read them."""
    with zipfile.ZipFile(file) as archive:
        info = next((info for info in archive.infolist() if array_name(info) == "x"), None)
        if info is None or info.compress_type != zipfile.ZIP_STORED or info.file_size < MIN_BYTES:
            return None
        check_archive(archive, path, mapped=("x",))
    file.seek(info.header_offset)
    n_name, n_rest = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    start = info.header_offset + _LOCAL_HEADER.size + n_name + n_rest
    file.seek(start)
    if _checksum(file, info.file_size) != info.CRC:
        raise zipfile.BadZipFile(f"wrong checksum of {info.filename}")
    file.seek(start)
    if np.lib.format.read_magic(file) != (1, 0):
        return None
    shape, is_fortran, kind = np.lib.format.read_array_header_1_0(file)
    if is_fortran or kind.hasobject:
        return None
    return np.memmap(path, kind, "c", file.tell(), shape)


def _checksum(file: IO[bytes], size: int) -> int:
    value = 0
    while size > 0:
        block = file.read(min(size, _BLOCK))
        if not block:
            raise zipfile.BadZipFile("truncated")
        value, size = zlib.crc32(block, value), size - len(block)
    return value
