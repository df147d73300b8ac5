"""Training windows before and after each operation of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda.data.channels import electrodes
from cadda.data.windows import Windows
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.pool import OperationPool
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import summarise
from cadda.policies.spec.text import ALL_CLASSES
from cadda.reporting.figures.operations import most_changed_draw
from cadda.reporting.records import Examples

__all__ = ["make_examples"]

MIN_APPLIED = 0.01
"""Operations that change fewer windows of every class are not shown."""

MAX_CHANNELS = 3
MAX_SECONDS = 30.0
"""Length of a window that is kept."""

PREFERRED_CHANNELS = ("C3", "Cz", "C4", "Fz", "Pz", "Oz")
"""Channels to show if there are more than fit, in this order."""

N_CANDIDATES = 51
"""Windows of a class from which a typical one is chosen."""


def make_examples(policy: PolicySpec, windows: Windows, pool: OperationPool) -> Examples | None:
    """Apply each operation of a policy to a training window, as strongly as the policy does.

    Windows are scaled to a standard deviation of 1. Returns None if no operation is for signals.
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
        most_changed_draw(
            pool[table.operations[n]],
            examples[row],
            table.magnitude[row, n] if pool[table.operations[n]].has_magnitude else None,
            channels=channels,
            seed=0,
        )
        for row, n in zip(rows, shown, strict=True)
    ]
    return Examples(
        operation=np.array([table.operations[n] for n in shown]),
        class_name=np.array([table.rows[row] for row in rows]),
        applied=table.applied[rows, shown],
        magnitude=table.magnitude[rows, shown],
        window=np.array([list(examples).index(row) for row in rows]),
        before=_as_stored(examples.values(), channels),
        after=_as_stored(after, channels),
        ch_names=np.array([windows.ch_names[i] for i in channels]),
    )


def _is_shown(name: str, applied: float, pool: OperationPool) -> bool:
    entry = CATALOGUE.get(name)
    return applied >= MIN_APPLIED and name in pool and (entry is None or entry.domain != "image")


def _choose_channels(ch_names: Sequence[str]) -> list[int]:
    """Return the preferred channels, filled up with channels spread evenly over the list."""
    if len(ch_names) <= MAX_CHANNELS:
        return list(range(len(ch_names)))
    first = [electrodes(name)[:1] for name in ch_names]
    known = [first.index((name,)) for name in PREFERRED_CHANNELS if (name,) in first]
    spread = np.linspace(0, len(ch_names) - 1, MAX_CHANNELS).round().astype(int).tolist()
    return sorted(list(dict.fromkeys([*known, *spread]))[:MAX_CHANNELS])


def _typical_window(windows: Windows, class_name: str) -> Tensor:
    """Return the window with the median peak of some windows of a class, as free of artefacts."""
    chosen = torch.arange(len(windows))
    if class_name != ALL_CLASSES:
        chosen = torch.nonzero(windows.y == windows.class_names.index(class_name)).flatten()
    # A class may be absent from the training windows.
    chosen = chosen if len(chosen) else torch.arange(len(windows))
    chosen = chosen[torch.linspace(0, len(chosen) - 1, min(len(chosen), N_CANDIDATES)).long()]
    peaks = windows.x[chosen].abs().amax(dim=(1, 2))
    window = windows.x[chosen[peaks.argsort()[len(peaks) // 2]]]
    window = window[:, : round(MAX_SECONDS * windows.sfreq)]
    return window / window.std()


def _as_stored(signals: Iterable[Tensor], channels: Sequence[int]) -> NDArray[np.float16]:
    stacked = torch.stack([signal[list(channels)] for signal in signals])
    return stacked.numpy().astype(np.float16)
