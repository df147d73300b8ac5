"""Results appended to a file as they are computed, so that a rerun computes what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cadda._internal.jsonlines import JsonLines

__all__ = ["RESULTS", "Records"]

RESULTS = Path(__file__).parent / "results"


class Records:
    """Lines of JSON in a file of the folder of results, looked up by some of their values."""

    def __init__(self, name: str) -> None:
        RESULTS.mkdir(exist_ok=True)
        self.lines = JsonLines(RESULTS / f"{name}.jsonl")

    def all(self) -> list[dict[str, Any]]:
        """Read all records in the order in which they were written."""
        return self.lines.read()

    def get(self, compute: Callable[[], dict[str, Any]], **key: Any) -> dict[str, Any]:
        """Return the record with a key; if there is none, compute and append it."""
        plain = json.loads(json.dumps(key))
        for record in self.all():
            if all(record.get(name) == value for name, value in plain.items()):
                return record
        made = plain | compute()
        self.lines.append(made)
        return made
