"""Warnings that point to the line of the user, however deep they arise."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

from cadda.exceptions import DataWarning

__all__ = ["warn_of_mixed_subjects", "warn_user", "warn_without_subjects"]

_PACKAGE = str(Path(__file__).resolve().parents[1])

_MODULE_CALL = ("torch", "nn", "modules", "module.py")
"""Where torch calls the forward of a module that the user has called."""

_shown: set[tuple[str, int, str]] = set()
"""File, line and text of warnings so far."""


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of code that has called this package; of the same there, once."""
    frames = inspect.stack(context=0)
    own = [i for i, frame in enumerate(frames) if frame.filename.startswith(_PACKAGE)]
    place = own[-1] + 1
    while place < len(frames) - 1 and Path(frames[place].filename).parts[-4:] == _MODULE_CALL:
        place += 1
    caller = frames[min(place, len(frames) - 1)]
    key = (caller.filename, caller.lineno, text)
    # Python forgets what it has shown whenever filters change, as in every reader of MNE.
    if _filter_action(text, category) == "default":
        if key in _shown:
            return
        _shown.add(key)
    warnings.warn(text, category, stacklevel=place + 1)


def _filter_action(text: str, category: type[Warning]) -> str:
    """Return what the first filter for a warning does with it; those of modules are skipped."""
    for action, message, kind, module, line in warnings.filters:
        matches = message is None or message.match(text)
        if matches and issubclass(category, kind) and module is None and not line:
            return action
    return "default"


def warn_without_subjects(argument: str) -> None:
    """Warn that a search takes each window for a subject, as an argument is missing."""
    warn_user(
        f"`{argument}` is missing, so that each window counts as a subject: windows of one person "
        "can be on both sides of a split, and the search is too sure of its result. Pass the "
        "subject of each window.",
        DataWarning,
    )


def warn_of_mixed_subjects(argument: str) -> None:
    """Warn that training is stopped by windows of its own subjects, as an argument is missing."""
    warn_user(
        f"`{argument}` is missing, so that each window counts as a subject: windows of one person "
        "can be in training and in validation, and early stopping does not see how well the model "
        "does on other people. Pass the subject of each window.",
        DataWarning,
    )
