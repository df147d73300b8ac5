"""Windows a few at a time, so that memory-mapped data are never loaded whole."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["CHUNK", "chunks"]

CHUNK = 64
"""Windows that are looked at together."""


def chunks(n_windows: int) -> Iterator[slice]:
    """Cut a number of windows into chunks."""
    for start in range(0, n_windows, CHUNK):
        yield slice(start, min(start + CHUNK, n_windows))
