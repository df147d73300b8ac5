"""A channel that is the reference itself, and zero after referencing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cadda.data.channels import find_channels
from cadda.data.io.header import Header
from cadda.exceptions import DataError

__all__ = ["warn_of_reference", "without_reference"]

_logger = logging.getLogger(__name__)


def without_reference(
    wanted: Sequence[str],
    header: Header,
    reference: str | Sequence[str] | None,
    chosen: Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """Return the channels without the only channel of the reference, and that channel, if any.

    Raise if it is `chosen` by its name, or if it is the only channel.
    """
    names = set(header.reference_channels(reference))
    if len(names) != 1:
        return [*wanted], []
    where = header.path.name
    own = [name for name in wanted if {*find_channels([name], header.labels, where)} == names]
    if set(own).intersection(chosen or ()):
        raise DataError(
            f"`channels` must not have {own[0]}, as it is the only channel of `reference`, and so "
            "zero; leave it out, or name more channels in `reference`."
        )
    used = [name for name in wanted if name not in own]
    if not used:
        raise DataError(
            f"`reference` must leave a channel, but {where} has {own[0]} only; set it to None."
        )
    return used, own


def warn_of_reference(own: Sequence[str]) -> None:
    """Warn of a channel that is left out, as it is the reference."""
    if own:
        _logger.warning(
            "%s is the only channel of `reference`, and so zero; it is left out.", own[0]
        )
