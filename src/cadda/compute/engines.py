"""Engines by name."""

from __future__ import annotations

import re

from cadda.compute.base import Engine, SerialEngine
from cadda.compute.processes import ProcessEngine

__all__ = ["check_engine", "open_engine"]

FORMS = "'serial', 'processes:N', 'dask:ADDRESS' or 'dask:local:N'"


def check_engine(text: str) -> str:
    """Check the name of an engine, and return it."""
    counted = re.fullmatch(r"(processes|dask:local):(\d+)", text)
    if counted and int(counted[2]):
        return text
    kind, _, rest = text.partition(":")
    if text == "serial" or (kind == "dask" and rest and not rest.startswith("local")):
        return text
    raise ValueError(f"`engine` must be {FORMS} with N of at least 1, got {text!r}.")


def open_engine(text: str) -> Engine:
    """Start an engine; use it as a context manager, so that its workers end."""
    kind, _, rest = check_engine(text).partition(":")
    if kind == "serial":
        return SerialEngine()
    if kind == "processes":
        return ProcessEngine(int(rest))
    from cadda.compute.cluster import open_dask

    return open_dask(rest)
