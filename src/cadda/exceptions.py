"""Errors of cadda that are neither a wrong value nor a wrong type, and a kind of warning.

A wrong argument raises `ValueError` or `TypeError`; everything else that cadda reports derives
from `CaddaError`, so that ``except cadda.CaddaError`` catches it all.
"""

from __future__ import annotations

__all__ = [
    "CaddaError",
    "DataError",
    "DataWarning",
    "LeakError",
    "LostDataWarning",
    "ModelError",
    "PolicyFileError",
    "RunError",
    "TrainingError",
    "WorkerError",
]


MAX_LENGTH = 900
"""Characters of a message; what is between its beginning and its end is left out."""


def one_line(text: str) -> str:
    """Return a message on one line, without what files may hold: escapes, direction marks, pages.

    Characters that cannot be printed are written as in Python.
    """
    if len(text) > MAX_LENGTH:
        text = f"{text[: MAX_LENGTH * 2 // 3]} … {text[-MAX_LENGTH // 3 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class CaddaError(Exception):
    """Base class of cadda's own errors."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class DataError(CaddaError):
    """A recording or data file that cannot be read, or that does not have the expected content."""


class DataWarning(UserWarning):
    """What is to be known of data before results are trusted, such as too few test subjects."""


class LostDataWarning(DataWarning):
    """Windows, recordings or subjects that are not used; reports list them."""


class PolicyFileError(CaddaError):
    """A policy file that cannot be read, or that is not a valid policy."""


class ModelError(CaddaError):
    """A model that cannot be used."""


class TrainingError(CaddaError):
    """Training that cannot continue."""


class LeakError(CaddaError):
    """A subject on two sides of a split."""


class RunError(CaddaError):
    """A run folder that cannot be used."""


class WorkerError(CaddaError):
    """A task that another process could not finish."""
