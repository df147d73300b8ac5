"""The engine that is used if none is chosen."""

from __future__ import annotations

from cadda.compute.processes import n_cores

__all__ = ["automatic_engine"]

MIN_SAMPLES = 10_000_000
"""Samples of all training windows of all training runs above which processes pay."""


def automatic_engine(n_parallel: int, n_samples: int, device: str) -> str:
    """Return the engine for some training runs at the same time: processes where they pay."""
    n_workers = min(n_cores(), n_parallel)
    # A GPU is busy with one training run; processes take seconds to start.
    if n_workers == 1 or device != "cpu" or n_samples <= MIN_SAMPLES:
        return "serial"
    return f"processes:{n_workers}"
