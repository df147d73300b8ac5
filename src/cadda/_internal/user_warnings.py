"""Warnings that point to the line of the user, however deep they arise."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

from cadda.exceptions import DataWarning

__all__ = ["warn_user", "warn_without_subjects"]

_PACKAGE = str(Path(__file__).resolve().parents[1])


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of code that has called this package."""
    files = [frame.filename for frame in inspect.stack(context=0)]
    own = [level for level, file in enumerate(files, 1) if file.startswith(_PACKAGE)]
    warnings.warn(text, category, stacklevel=own[-1] + 1)


def warn_without_subjects(argument: str) -> None:
    """Warn that a search takes each window for a subject, as an argument is missing."""
    warn_user(
        f"`{argument}` is missing, so that each window counts as a subject: windows of one person "
        "can be on both sides of a split, and the search is too sure of its result. Pass the "
        "subject of each window.",
        DataWarning,
    )
