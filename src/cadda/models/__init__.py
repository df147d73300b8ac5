"""Networks that classify windows, and ways to make one by name."""

from __future__ import annotations

__all__ = ["MODEL_NAMES"]

MODEL_NAMES = ("chambon2018", "shallow", "lenet1")
"""Keys of `cadda.models.registry.MODELS`, for help texts: the models import torch."""
