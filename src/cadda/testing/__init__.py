"""Checks that cadda's own operations pass, for those of users to pass as well."""

from __future__ import annotations

from cadda.testing.operations import OperationContract

__all__ = ["OperationContract"]
