"""Tables as data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cadda._internal.optional import import_optional

__all__ = ["make_frame"]


def make_frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """Return rows as a data frame; one without rows has its columns too."""
    pandas = import_optional("pandas", "`to_frame`", "pandas")
    return pandas.DataFrame(list(rows), columns=list(columns))
