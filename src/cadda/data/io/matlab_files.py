"""Checks of MATLAB files: their reader in SciPy trusts every type and size in them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from cadda._internal.limits import (
    MAX_DEPTH,
    LimitError,
    check_memory,
    check_regular,
    open_regular,
)

__all__ = ["check_matlab"]

_HEADER, _HDF = 128, b"\x89HDF\r\n\x1a\n"
_MATRIX, _COMPRESSED = 14, 15
_TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, _MATRIX, _COMPRESSED, 16, 17, 18}
_CLASSES = range(1, 19)
_INT32, _UINT32 = 5, 6
_MAX_AXES = 32
_BLOCK = 1 << 16


def check_matlab(path: Path) -> None:
    """Raise `LimitError` if a MATLAB file is damaged, or does not fit into memory."""
    size = check_regular(path)
    check_memory(path, size, size)
    with open_regular(path) as file:
        content = file.read()
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None or content[124:126] not in (b"\0\1", b"\1\0"):
        if _HDF in content[:2048]:
            return
        raise LimitError(path, "it is not a MATLAB file")
    try:
        _Checker(path, order, size).check_elements(memoryview(content)[_HEADER:], 0)
    except (struct.error, zlib.error, ValueError) as error:
        raise LimitError(path, f"it is damaged ({error})") from error


class _Checker:
    """Walks through the elements of a file."""

    def __init__(self, path: Path, order: str, stored: int) -> None:
        self.path, self.order, self.stored, self.total = path, order, stored, 0

    def check_elements(self, content: memoryview, depth: int) -> None:
        """Check variables one after the other, compressed or not."""
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        for kind, data in self._elements(content):
            if kind == _COMPRESSED and depth == 0:
                self.check_elements(memoryview(self._inflate(data)), 1)
            elif kind == _MATRIX:
                self._check_matrix(data, depth + 1)
            else:
                raise ValueError(f"an element of type {kind} in place of an array")

    def _check_matrix(self, content: memoryview, depth: int) -> None:
        """Check flags, size and the values of an array; cells and structures hold others."""
        elements = self._elements(content)
        kind, flags = next(elements, (0, memoryview(b"")))
        if not content:
            return
        if kind != _UINT32 or len(flags) != 8:
            raise ValueError("an array without its type")
        if struct.unpack(f"{self.order}I", flags[:4])[0] & 0xFF not in _CLASSES:
            raise ValueError("an array of an unknown type")
        kind, axes = next(elements, (0, memoryview(b"")))
        n_axes = len(axes) // 4
        sizes = struct.unpack(f"{self.order}{n_axes}i", axes[: 4 * n_axes])
        if kind != _INT32 or not 2 <= n_axes <= _MAX_AXES or min(sizes) < 0:
            raise ValueError("an array without its size")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        for kind, data in elements:
            if kind == _MATRIX:
                self._check_matrix(data, depth + 1)
            elif kind == _COMPRESSED:
                raise ValueError("a compressed element within an array")

    def _elements(self, content: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Yield type and content of elements; raise `ValueError` where these cannot be."""
        place = 0
        while place < len(content):
            kind, size = struct.unpack(f"{self.order}II", content[place : place + 8])
            if kind >> 16:
                # A short element has its content beside its type.
                kind, size, start, after = kind & 0xFFFF, kind >> 16, place + 4, place + 8
                is_whole = size <= 4
            else:
                start = place + 8
                after = start + size + (0 if kind == _COMPRESSED else -size % 8)
                is_whole = start + size <= len(content)
            if kind not in _TYPES or not is_whole:
                raise ValueError(f"an element of type {kind} and {size} bytes at byte {place}")
            yield kind, content[start : start + size]
            place = after

    def _inflate(self, data: memoryview) -> bytes:
        inflater, blocks, rest = zlib.decompressobj(), [], bytes(data)
        while rest or not inflater.eof:
            block = inflater.decompress(rest, _BLOCK)
            rest = inflater.unconsumed_tail
            self.total += len(block)
            check_memory(self.path, self.stored, self.total)
            blocks.append(block)
            if not block and not rest:
                break
        return b"".join(blocks)
