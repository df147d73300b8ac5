"""Engines by name."""

from __future__ import annotations

import re

from cadda.compute.base import Engine, SerialEngine
from cadda.compute.processes import ProcessEngine

__all__ = ["check_engine", "open_engine"]

FORMS = "'serial', 'processes:N', 'dask:ADDRESS' or 'dask:local:N'"


def check_engine(text: str) -> str:
    """Refuse what does not name an engine.

    Parameters
    ----------
    text : str
        ``"serial"``, ``"processes:N"``, ``"dask:ADDRESS"`` or ``"dask:local:N"``.

    Returns
    -------
    str
        The same.
    """
    counted = re.fullmatch(r"(processes|dask:local):(\d+)", text)
    if counted and int(counted[2]):
        return text
    kind, _, rest = text.partition(":")
    if text == "serial" or (kind == "dask" and rest and not rest.startswith("local")):
        return text
    raise ValueError(f"`engine` must be {FORMS} with N of at least 1, got {text!r}.")


def open_engine(text: str) -> Engine:
    """Start an engine; use it as a context, so that its workers end.

    Parameters
    ----------
    text : str
        ``"serial"`` works in this process; ``"processes:N"`` in N others; ``"dask:ADDRESS"`` on
        the workers of a Dask scheduler, such as ``"dask:tcp://10.0.0.1:8786"``; ``"dask:local:N"``
        on N Dask workers on this machine.

    Returns
    -------
    Engine
        Ready for work.
    """
    kind, _, rest = check_engine(text).partition(":")
    if kind == "serial":
        return SerialEngine()
    if kind == "processes":
        return ProcessEngine(int(rest))
    from cadda.compute.cluster import open_dask

    return open_dask(rest)
