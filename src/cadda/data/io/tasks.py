"""The task that windows are assumed to be of, and what it recommends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from cadda._internal.rows import Signals
from cadda.data.io.hypnogram import are_stages

__all__ = ["Task", "guess_task", "highpass_notes", "slow_power_notes", "task_filters"]

Task: TypeAlias = Literal["sleep stages", "movement or imagery", "other"]

SLOW = 1.0
"""Frequency in Hz below which movements of the eyes have most of their power."""

SLOW_OF_MOVEMENT = 4.0
"""Frequency in Hz below which signals tell left from right in imagined fists."""

FILTERS: dict[Task, dict[str, float]] = {
    "movement or imagery": {"highpass": SLOW_OF_MOVEMENT, "lowpass": 38.0},
}
"""Edges of the pass band in Hz of tasks in which they are not the paper's, which are for sleep."""

MAX_SLOW_SHARE = 0.25
"""Share of the power below these frequencies that signals after such a high-pass hardly have."""

N_SAMPLED = 200
"""Windows, about, whose spectra are computed."""

_BODY = frozenset(
    word
    for part in ("hand", "fist", "finger", "thumb", "wrist", "arm", "leg", "toe", "tongue")
    for word in (part, f"{part}s")
) | {"foot", "feet"}
_CODES = {"769", "770"}
"""Left and right hand in the event tables of GDF."""


def guess_task(class_names: Sequence[str], *, from_stages: bool = False) -> Task:
    """Return the task by the names of classes; `from_stages` if these are merged sleep stages."""
    if from_stages or are_stages(class_names):
        return "sleep stages"
    words = set(_words(class_names))
    is_movement = not words.isdisjoint(_BODY) or words >= {"left", "right"} or words >= _CODES
    return "movement or imagery" if is_movement else "other"


def _words(names: Iterable[str]) -> Iterable[str]:
    return (word for name in names for word in re.findall(r"[a-z]+|\d+", name.casefold()))


def task_filters(task: Task) -> dict[str, float]:
    """Return the default filters of a task, as settings of `Preprocessing` in Hz."""
    return FILTERS.get(task, {})


def highpass_notes(task: Task, highpass: float) -> tuple[str, ...]:
    """Return a note if slow activity is kept, except in sleep, which is slow itself."""
    if task == "movement or imagery" and highpass < SLOW_OF_MOVEMENT:
        return (
            f"there is no high-pass of {SLOW_OF_MOVEMENT:g} Hz or more: in movement and imagery, "
            "slow activity, probably of the eyes, can tell left from right; remove it with "
            f"`highpass={SLOW_OF_MOVEMENT:g}`",
        )
    if task == "other" and highpass < SLOW:
        return (
            f"there is no high-pass of {SLOW:g} Hz or more: slow activity, such as that of the "
            "eyes, may tell the classes; compare with `highpass=4`",
        )
    return ()


def slow_power_notes(task: Task, signals: Signals, sfreq: float | None) -> tuple[str, ...]:
    """Return a note on arrays with much slow activity, of which the filters are not known."""
    limit = SLOW_OF_MOVEMENT if task == "movement or imagery" else SLOW
    # Shorter windows do not resolve such frequencies.
    if task == "sleep stages" or sfreq is None or signals.shape[-1] < 2 * sfreq / limit:
        return ()
    share = _share_below(limit, signals, sfreq)
    if share < MAX_SLOW_SHARE:
        return ()
    return (
        f"{share:.0%} of the power is below {limit:g} Hz: slow activity, such as that of the "
        "eyes, may tell the classes; compare with windows of recordings that were high-passed at "
        f"{SLOW_OF_MOVEMENT:g} Hz",
    )


def _share_below(limit: float, signals: Signals, sfreq: float) -> float:
    """Compute the share of the power of some windows that is below a frequency in Hz."""
    step = max(1, len(signals) // N_SAMPLED)
    x = np.asarray(signals[: len(signals) : step], dtype=np.float64)
    taper = np.hanning(x.shape[-1])
    power = np.abs(np.fft.rfft((x - x.mean(-1, keepdims=True)) * taper)) ** 2
    is_slow = np.fft.rfftfreq(x.shape[-1], 1 / sfreq) < limit
    return float(power[..., is_slow].sum() / max(power.sum(), np.finfo(float).tiny))
