"""A few of the user's own windows, before and after each operation of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda.data.montage import electrodes
from cadda.data.windows import Windows
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.pool import OperationPool
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.tables import summarise
from cadda.policies.spec.text import ALL_CLASSES
from cadda.reporting.figures.operations import most_visible

__all__ = ["gallery_of"]

SEEN = 0.01
"""Least probability of changing a window of some class for an operation to be shown."""

MOST_CHANNELS = 3
LONGEST = 30.0
"""Most seconds of a window that are kept."""

KNOWN_CHANNELS = ("C3", "Cz", "C4", "Fz", "Pz", "Oz")
"""Channels to show where there are more than fit, the first ones rather than the last."""

N_CANDIDATES = 51
"""Windows of a class among which a typical one is looked for."""


def gallery_of(
    policy: PolicySpec, windows: Windows, pool: OperationPool
) -> dict[str, NDArray[np.generic]] | None:
    """Apply each operation that a policy uses to a window, as strongly as the policy does.

    Parameters
    ----------
    policy : PolicySpec
        The policy.
    windows : Windows
        Training windows.
    pool : OperationPool
        The operations, made for these windows.

    Returns
    -------
    dict of str to array | None
        ``operation``, ``class_name`` (where it is used most), ``applied`` (how often there),
        ``magnitude`` (NaN for none) and ``window`` have one entry per operation, the most used
        first; ``before`` holds the windows, scaled to a standard deviation of 1, and ``after``
        what each operation made of its own, both in the channels ``ch_names`` only. None if no
        operation is for signals.
    """
    table = summarise(policy)
    order = np.argsort(-table.applied.max(0), kind="stable").tolist()
    shown = [n for n in order if _is_shown(table.operations[n], table.applied[:, n].max(), pool)]
    if not shown:
        return None
    channels = _choose_channels(windows.ch_names)
    rows = table.applied[:, shown].argmax(0).tolist()
    examples = {row: _typical_window(windows, table.rows[row]) for row in dict.fromkeys(rows)}
    after = [
        most_visible(
            pool[table.operations[n]],
            examples[row],
            table.magnitude[row, n] if pool[table.operations[n]].has_magnitude else None,
            channels=channels,
            seed=0,
        )
        for row, n in zip(rows, shown, strict=True)
    ]
    return {
        "operation": np.array([table.operations[n] for n in shown]),
        "class_name": np.array([table.rows[row] for row in rows]),
        "applied": table.applied[rows, shown],
        "magnitude": table.magnitude[rows, shown],
        "window": np.array([list(examples).index(row) for row in rows]),
        "before": _stored(examples.values(), channels),
        "after": _stored(after, channels),
        "ch_names": np.array([windows.ch_names[i] for i in channels]),
    }


def _is_shown(name: str, applied: float, pool: OperationPool) -> bool:
    entry = CATALOGUE.get(name)
    return applied >= SEEN and name in pool and (entry is None or entry.domain != "image")


def _choose_channels(ch_names: Sequence[str]) -> list[int]:
    """Take the channels that people know, else those that are farthest apart in the list."""
    if len(ch_names) <= MOST_CHANNELS:
        return list(range(len(ch_names)))
    first = [electrodes(name)[:1] for name in ch_names]
    known = [first.index((name,)) for name in KNOWN_CHANNELS if (name,) in first]
    spread = np.linspace(0, len(ch_names) - 1, MOST_CHANNELS).round().astype(int).tolist()
    return sorted(list(dict.fromkeys([*known, *spread]))[:MOST_CHANNELS])


def _typical_window(windows: Windows, class_name: str) -> Tensor:
    """Give a window without artefacts: of some of the class, that with the median peak."""
    chosen = torch.arange(len(windows))
    if class_name != ALL_CLASSES:
        chosen = torch.nonzero(windows.y == windows.class_names.index(class_name)).flatten()
    # A class may be absent from the training windows.
    chosen = chosen if len(chosen) else torch.arange(len(windows))
    chosen = chosen[torch.linspace(0, len(chosen) - 1, min(len(chosen), N_CANDIDATES)).long()]
    peaks = windows.x[chosen].abs().amax(dim=(1, 2))
    window = windows.x[chosen[peaks.argsort()[len(peaks) // 2]]]
    window = window[:, : round(LONGEST * windows.sfreq)]
    return window / window.std()


def _stored(signals: Iterable[Tensor], channels: Sequence[int]) -> NDArray[np.float16]:
    return torch.stack([one[list(channels)] for one in signals]).numpy().astype(np.float16)
