"""Results that are appended to a file as they come, so that a rerun computes what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "Records"]

RESULTS = Path(__file__).parent / "results"


class Records:
    """Lines of JSON in a file, found by some of their values.

    Parameters
    ----------
    name : str
        Name of the file in the folder of results, without its ending.
    """

    def __init__(self, name: str) -> None:
        RESULTS.mkdir(exist_ok=True)
        self.path = RESULTS / f"{name}.jsonl"

    def all(self) -> list[dict[str, Any]]:
        """Read every record.

        Returns
        -------
        list of dict
            In the order in which they came.
        """
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def get(self, compute: Callable[[], dict[str, Any]], **key: Any) -> dict[str, Any]:
        """Give the record with a key, computing it only if it is not there yet.

        Parameters
        ----------
        compute : callable
            Gives the rest of the record.
        **key : object
            What the record is of.

        Returns
        -------
        dict
            Key and values.
        """
        plain = json.loads(json.dumps(key))
        for record in self.all():
            if all(record.get(name) == value for name, value in plain.items()):
                return record
        made = plain | compute()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(made) + "\n")
        return made
