"""Memory that workers keep between two steps of a training run."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache

__all__ = ["keep_freed_memory"]

DASK_DEFAULT = "65536"
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Options of ``mallopt`` in glibc."""
MAX_KEPT, MAX_REUSED = 256 << 20, 32 << 20
"""Bytes of freed memory to keep, and of the largest block that is taken from it."""


@cache
def keep_freed_memory() -> None:
    """Undo, once per process, what Dask sets for its workers where it costs too much.

    With its ``MALLOC_TRIM_THRESHOLD_`` glibc returns every freed tensor of more than 128 kB to the
    system, which clears its pages for the next one: training took twice as long. Other values,
    which a user has chosen, are left as they are.
    """
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") != DASK_DEFAULT:
        return
    # Other systems have no such function.
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(TRIM_THRESHOLD, MAX_KEPT)
        library.mallopt(MMAP_THRESHOLD, MAX_REUSED)
