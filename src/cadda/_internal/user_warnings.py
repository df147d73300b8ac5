"""Warnings that point to the line of the user, however deep they arise."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

__all__ = ["warn_user"]

_PACKAGE = str(Path(__file__).resolve().parents[1])


def warn_user(text: str) -> None:
    """Warn at the line of code that has called this package."""
    files = [frame.filename for frame in inspect.stack(context=0)]
    own = [level for level, file in enumerate(files, 1) if file.startswith(_PACKAGE)]
    warnings.warn(text, stacklevel=own[-1] + 1)
