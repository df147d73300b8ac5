"""Warnings of windows, recordings and subjects that are not used."""

from __future__ import annotations

from dataclasses import dataclass
from warnings import WarningMessage

from cadda.exceptions import LostDataWarning


@dataclass
class Losses:
    """Those that were issued so far."""

    caught: list[WarningMessage]

    @property
    def messages(self) -> list[str]:
        return [str(each.message) for each in self.caught if each.category is LostDataWarning]

    @property
    def text(self) -> str:
        return "\n".join(self.messages)
