"""Where independent work is done: here, in other processes, or on other machines."""

from __future__ import annotations

from cadda.compute.base import Engine, SerialEngine, check_engine, open_engine

__all__ = ["Engine", "SerialEngine", "check_engine", "open_engine"]
