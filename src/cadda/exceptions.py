"""Errors of cadda that are neither a wrong value nor a wrong type.

A wrong argument raises `ValueError` or `TypeError`; everything else that cadda reports derives
from `CaddaError`, so that ``except cadda.CaddaError`` catches it all.
"""

from __future__ import annotations

__all__ = ["CaddaError", "PolicyFileError"]


class CaddaError(Exception):
    """Base class of cadda's own errors."""


class PolicyFileError(CaddaError):
    """A policy file that cannot be read, or that does not say what a policy file must say."""
