"""Contracts that cadda's own operations and search methods pass, for those of users as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cadda.testing.operations import OperationContract
    from cadda.testing.searchers import SearcherContract

__all__ = ["OperationContract", "SearcherContract"]


def __getattr__(name: str) -> object:
    # Imported on first use: the contract of operations needs pytest, the rest does not.
    if name == "OperationContract":
        from cadda.testing.operations import OperationContract

        return OperationContract
    if name == "SearcherContract":
        from cadda.testing.searchers import SearcherContract

        return SearcherContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
