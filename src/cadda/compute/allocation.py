"""Memory that a process keeps between two steps of a training run."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache

__all__ = ["keep_freed_memory"]

VARIABLES = {"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": None}
"""Variables with which users tell glibc what to keep; the first with the value that Dask sets."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Options of ``mallopt`` in glibc."""
MAX_KEPT, MAX_REUSED = 256 << 20, 32 << 20
"""Bytes of freed memory to keep, and of the largest block that is taken from it."""


@cache
def keep_freed_memory() -> None:
    """Make glibc keep freed tensors for the next step, once in a process of cadda's own.

    By default, and even more with what Dask sets for its workers, it returns large ones to the
    system, which clears their pages for the next ones: a training run took up to twice as long.
    What a user has chosen is left as it is.
    """
    if any(os.environ.get(name, value) != value for name, value in VARIABLES.items()):
        return
    # Other systems have no such function.
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(TRIM_THRESHOLD, MAX_KEPT)
        library.mallopt(MMAP_THRESHOLD, MAX_REUSED)
