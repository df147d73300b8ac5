"""Networks that classify windows, and ways to make one by name."""

from __future__ import annotations

from cadda.models.networks import Chambon2018, LeNet1, Shallow
from cadda.models.registry import MODELS, ModelSource, make_model

__all__ = ["MODELS", "Chambon2018", "LeNet1", "ModelSource", "Shallow", "make_model"]
