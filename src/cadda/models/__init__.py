"""Networks that classify windows, and ways to make one by name."""

from __future__ import annotations

from cadda.models.chambon2018 import Chambon2018
from cadda.models.lenet1 import LeNet1
from cadda.models.registry import MODELS, ModelSource, make_model
from cadda.models.shallow import Shallow

__all__ = ["MODELS", "Chambon2018", "LeNet1", "ModelSource", "Shallow", "make_model"]
