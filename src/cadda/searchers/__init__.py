"""How to find a policy: rewards of augmented windows and what is learned from them."""

from __future__ import annotations

__all__ = ["METHOD_NAMES"]

METHOD_NAMES = (
    "adda",
    "cadda",
    "dada",
    "faster_autoaugment",
    "autoaugment",
    "fast_autoaugment",
    "random",
    "randaugment",
    "population",
)
"""Keys of `cadda.searchers.methods.METHODS`, for help texts: the methods import torch."""
