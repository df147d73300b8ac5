"""Dataclasses that save and load themselves."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import TypeAdapter

from cadda._internal.files import replace_atomically, write_text_atomically

__all__ = ["ArrayRecord", "JsonRecord"]


class JsonRecord:
    """Base of dataclasses of plain values, saved as JSON and validated when loaded."""

    def to_json(self) -> str:
        """Return the record as JSON."""
        return TypeAdapter(type(self)).dump_json(self, indent=1).decode()

    def save(self, path: Path) -> None:
        """Write the record as JSON."""
        write_text_atomically(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record that was saved."""
        return TypeAdapter(cls).validate_json(path.read_bytes())


class ArrayRecord:
    """Base of dataclasses of arrays, saved as npz; fields that are None are left out."""

    def save(self, path: Path) -> None:
        """Write the arrays."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        arrays = {name: value for name, value in values.items() if value is not None}
        with replace_atomically(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read arrays that were saved."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**file)
