"""Which classes of a source are kept, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean
from cadda.data.checks import check_names
from cadda.exceptions import DataError

__all__ = ["choose_classes"]


def choose_classes(
    names: Sequence[str],
    labels: NDArray[np.int64],
    classes: Sequence[str] | None,
    min_windows: int | None,
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Choose the classes to keep, and their order."""
    chosen = list(names if classes is None else check_names("classes", classes))
    for name in chosen:
        if name not in names:
            raise ValueError(
                f"`classes` must be among {list(names)}, got {name!r}{did_you_mean(name, names)}."
            )
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    count_of = {name: int(counts[names.index(name)]) for name in chosen}
    empty = [name for name in chosen if not count_of[name]]
    if min_windows is None and empty:
        raise DataError(
            f"there is no window of {', '.join(map(repr, empty))}; leave out classes without "
            "windows with min_windows=1 (--min-windows 1), or name those you want in `classes` "
            "(--classes)."
        )
    chosen = [name for name in chosen if count_of[name] >= (min_windows or 0)]
    if sum(count_of[name] > 0 for name in chosen) < 2:
        raise DataError(
            "at least two classes must have "
            f"{f'{min_windows} windows or more' if min_windows else 'windows'}, got {count_of}."
        )
    # The last entry is where -1 points to.
    new = np.full(len(names) + 1, -1, dtype=np.int64)
    new[[names.index(name) for name in chosen]] = np.arange(len(chosen))
    return tuple(chosen), new[labels]
