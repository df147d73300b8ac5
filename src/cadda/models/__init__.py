"""Networks that classify windows."""

from __future__ import annotations

from cadda.models.chambon2018 import Chambon2018

__all__ = ["Chambon2018"]
