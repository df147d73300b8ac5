"""Phrases that messages share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = ["did_you_mean", "short_reason", "warning_key"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion such as ``" (did you mean `time_mask`?)"``, or an empty string."""
    spelling = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), spelling, n=1, cutoff=0.6)
    return f" (did you mean `{spelling[near[0]]}`?)" if near else ""


def short_reason(error: BaseException) -> str:
    """Return the reason of an error on one line, such as ``"Permission denied"``.

    Error number and path, which the operating system adds, and the final full stop are left out.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def warning_key(text: str) -> str:
    """Return a warning without percentages: one with other percentages is not a new warning."""
    return re.sub(r"\d+%", "", text)
