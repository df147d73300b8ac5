"""Figures on disk."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from cadda._internal.files import write_bytes_atomically

__all__ = ["DOTS_PER_INCH", "save_figure"]

DOTS_PER_INCH = 150


def save_figure(figure: Figure, path: Path, *, metadata: Mapping[str, None] | None = None) -> None:
    """Write a figure atomically, in the format that the path ends in."""
    # In memory first: Pillow reports a full disk without the reason.
    content = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    figure.savefig(content, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    write_bytes_atomically(path, content.getbuffer())
