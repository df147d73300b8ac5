"""What differs between two runs, in words."""

from __future__ import annotations

import json
import re

__all__ = ["excerpts", "is_digest"]

MAX_TEXT, CONTEXT = 40, 12
"""Characters of a value that a message shows, and how many of them are equal in both."""


def excerpts(old: object, new: object) -> tuple[str, str]:
    """Return two values as JSON; of long ones, the part where they begin to differ."""
    first, second = (json.dumps(value, ensure_ascii=False, default=str) for value in (old, new))
    if max(len(first), len(second)) <= MAX_TEXT:
        return first, second
    pairs = enumerate(zip(first, second, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))
    start = max(0, same - CONTEXT)
    return _excerpt(first, start), _excerpt(second, start)


def _excerpt(text: str, start: int) -> str:
    end = start + MAX_TEXT
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")


def is_digest(value: object) -> bool:
    """Check for a digest, whose value says nothing to a reader."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{16,64}", value) is not None
