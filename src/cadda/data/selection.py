"""Some channels and classes of windows, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cadda.data.channels import find_channels
from cadda.data.classes import choose_classes

__all__ = ["Selection", "select"]


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen."""

    rows: list[int]
    ch_names: tuple[str, ...]
    kept: NDArray[np.bool_]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]


def select(
    ch_names: Sequence[str],
    class_names: Sequence[str],
    labels: NDArray[np.int64],
    *,
    channels: Sequence[str] | None,
    classes: Sequence[str] | None,
    min_windows: int | None,
    where: str,
) -> Selection:
    """Choose channels and classes."""
    wanted = tuple(ch_names if channels is None else channels)
    rows = [list(ch_names).index(name) for name in find_channels(wanted, ch_names, where)]
    chosen = tuple(class_names)
    # Classes that nobody asked for may be without windows.
    if classes is not None or min_windows is not None:
        chosen, labels = choose_classes(class_names, labels, classes, min_windows)
    kept = labels >= 0
    return Selection(rows, wanted, kept, labels[kept], chosen)
