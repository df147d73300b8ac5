"""The command line that the user gave, to be written down or repeated."""

from __future__ import annotations

import shlex
import sys

__all__ = ["command_line"]


def command_line(*, without: str | None = None) -> str:
    """Give the command as it can be typed again.

    Parameters
    ----------
    without : str | None
        An option to leave out.

    Returns
    -------
    str
        Such as ``cadda search night-epo.fif.gz --out run``.
    """
    return shlex.join(["cadda", *(one for one in sys.argv[1:] if one != without)])
