"""Settings that are given as ``--set name=value``."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse_settings"]


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Turn ``name=value`` into settings; values are JSON, or else text.

    Parameters
    ----------
    texts : list of str
        Such as ``["n_stages=1", "estimator=straight-through"]``.

    Returns
    -------
    dict of str to object
        Settings by name.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ValueError(f"`--set` must be name=value, got {text!r}.")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings
